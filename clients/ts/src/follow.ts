import { Code } from "@connectrpc/connect";
import { ConnectionTracker, type ConnectionState } from "./connection.js";
import { KubeconnectError } from "./error.js";
import { RetryPolicy, type RetryOptions } from "./retry.js";
import { sleep, type Sleep } from "./sleep.js";
import { StalenessPolicy, type StalenessLimit } from "./staleness.js";
import type { WatchBatch } from "./watch.js";
import { watchdog, type OpenBatches, type SilenceLimits } from "./watchdog.js";

/** Options of follow. */
export interface FollowOptions extends RetryOptions, SilenceLimits, StalenessLimit {
  /** Ends the watch and any delay. */
  readonly signal: AbortSignal;
  /** The token to resume from, stored by an earlier run. Default: begin with a snapshot. */
  readonly resumeToken?: string | undefined;
  /** Called for each failure that will be retried, with the delay before the next attempt. */
  readonly onRetry?: ((error: KubeconnectError, delayMs: number) => void) | undefined;
  /** Called when the connection is established or lost. */
  readonly onConnection?: ((connection: ConnectionState) => void) | undefined;
  /** The function that waits between attempts. Default: a timer. */
  readonly sleep?: Sleep | undefined;
}

/** The batches of a followed watch. */
export interface Following<B> extends AsyncGenerator<B, never, undefined> {
  /** The connection state of the watch. */
  readonly connection: ConnectionState;
}

/**
 * Follows a watch: when its stream fails, ends or is silent for too long, a new stream is opened
 * after a delay and resumes at the last position. If the service cannot resume there, the stream
 * begins with RESET and a snapshot, so that a caller that applies all batches has the cluster's
 * state. After silence, and if the service has reported the stream as stale for too long, the
 * Node.js client of this package opens another connection, which may lead to another replica.
 * Throws on a failure that a retry cannot fix.
 *
 *     const open = (signal: AbortSignal, resumeToken: string) =>
 *       client.watch("pods", {}, { signal, resumeToken }).batches();
 *     for await (const batch of follow(open, { signal })) …
 */
export function follow<B extends WatchBatch<unknown>>(
  open: OpenBatches<B>,
  options: FollowOptions,
): Following<B> {
  const connection = new ConnectionTracker(options.onConnection);
  const batches = batchesOf(watchdog(open, options), options, connection);
  return Object.defineProperty(batches, "connection", {
    get: () => connection.state,
  }) as Following<B>;
}

async function* batchesOf<B extends WatchBatch<unknown>>(
  open: OpenBatches<B>,
  options: FollowOptions,
  connection: ConnectionTracker,
): AsyncGenerator<B, never, undefined> {
  const retry = new RetryPolicy(options);
  const staleness = new StalenessPolicy(options, options.random);
  const { signal, onRetry, sleep: wait = sleep } = options;
  let resumeToken = options.resumeToken ?? "";
  for (;;) {
    signal.throwIfAborted();
    let failure: KubeconnectError;
    const leaving = new AbortController();
    staleness.opened();
    try {
      for await (const batch of open(AbortSignal.any([signal, leaving.signal]), resumeToken)) {
        resumeToken = batch.resumeToken;
        retry.received(batch);
        connection.received();
        const stale = staleness.received(batch);
        yield batch;
        if (stale) {
          leaving.abort(stale); // also leaves the connection: see connections.ts
          throw stale;
        }
      }
      failure = KubeconnectError.unavailable("the service ended the stream");
    } catch (error) {
      signal.throwIfAborted();
      failure = KubeconnectError.from(error);
    }
    connection.failed(failure);
    const delay = retry.failed(failure);
    if (delay === undefined) {
      throw failure;
    }
    if (failure.code === Code.InvalidArgument) {
      resumeToken = ""; // the token may be invalid, so retry without it
    }
    onRetry?.(failure, delay);
    await wait(delay, signal);
  }
}
