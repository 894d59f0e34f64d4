import { Code } from "@connectrpc/connect";
import { ConnectionTracker, type ConnectionState } from "./connection.js";
import { KubeconnectError } from "./error.js";
import { RetryPolicy, type RetryOptions } from "./retry.js";
import { sleep, type Sleep } from "./sleep.js";
import { StalenessPolicy, type StalenessLimit } from "./staleness.js";
import type { WatchBatch } from "./watch.js";
import { watchdog, type OpenBatches, type SilenceLimits } from "./watchdog.js";

/** How to follow a watch. */
export interface FollowOptions extends RetryOptions, SilenceLimits, StalenessLimit {
  /** Ends the watch and any wait. */
  readonly signal: AbortSignal;
  /** Where to begin: a token that was stored by an earlier run. Default: anew. */
  readonly resumeToken?: string | undefined;
  /** Called for each failure that is going to be retried, with the wait before that. */
  readonly onRetry?: ((error: KubeconnectError, delayMs: number) => void) | undefined;
  /** Called whenever the connection is made or lost. */
  readonly onConnection?: ((connection: ConnectionState) => void) | undefined;
  /** How to wait between attempts. Default: the clock. */
  readonly sleep?: Sleep | undefined;
}

/** The batches of a followed watch. */
export interface Following<B> extends AsyncGenerator<B, never, undefined> {
  /** Whether the service can be heard now, and since when. */
  readonly connection: ConnectionState;
}

/**
 * A watch that goes on: when its stream fails, ends or falls silent, a new one is opened
 * after a while and continues where the last one was. After silence, and where the service has
 * called the stream stale for too long, a client of this package for Node.js opens another
 * connection for it, which may lead to another replica. Where it cannot, it begins with
 * RESET and a snapshot; so whoever applies all batches ends up with the cluster's
 * state. Throws on a failure that trying again cannot cure.
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
        connection.heard();
        const stale = staleness.received(batch);
        yield batch;
        if (stale) {
          leaving.abort(stale); // the connection too: see node.ts
          throw stale;
        }
      }
      failure = KubeconnectError.unavailable("the service ended the stream");
    } catch (error) {
      signal.throwIfAborted();
      failure = KubeconnectError.from(error);
    }
    connection.lost(failure);
    const delay = retry.failed(failure);
    if (delay === undefined) {
      throw failure;
    }
    if (failure.code === Code.InvalidArgument) {
      resumeToken = ""; // if anything can cure that, it is another token
    }
    onRetry?.(failure, delay);
    await wait(delay, signal);
  }
}
