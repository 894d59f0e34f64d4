import { Code } from "@connectrpc/connect";
import { ConnectionTracker, type ConnectionState } from "./connection.js";
import { KubeconnectError } from "./error.js";
import { RetryPolicy, type RetryDelays, type RetryOptions } from "./retry.js";
import { failWhenSilent, type OpenBatches, type SilenceLimits } from "./silence.js";
import { sleep, type Sleep } from "./sleep.js";
import { StalenessPolicy, type BatchStatus, type StalenessLimit } from "./staleness.js";

/** How a watch reconnects. */
export interface ReconnectOptions extends RetryOptions, StalenessLimit {
  /** Called for each failure that will be retried, with the delay before the next attempt. */
  readonly onRetry?: ((error: KubeconnectError, delayMs: number) => void) | undefined;
  /** Called when the connection is established, lost or closed. */
  readonly onConnection?: ((connection: ConnectionState) => void) | undefined;
  /** The function that waits between attempts. Default: a timer. */
  readonly sleep?: Sleep | undefined;
}

/** The limits that only tests change. */
export interface ReconnectLimits extends RetryDelays, SilenceLimits {}

/** The state of a watch that its iterations share. */
export interface StreamState {
  readonly connection: ConnectionTracker;
  readonly retry: RetryPolicy;
}

/**
 * Yields the batches of a watch over all its streams. When a stream fails, ends or is silent for
 * too long, a new stream is opened after a delay and resumes at the last position. If the service
 * cannot resume there, the stream begins with RESET and a snapshot. After silence, and if the
 * service has reported the stream as stale for too long, the Node.js client of this package opens
 * another connection, which may lead to another replica. Throws on a failure that is final.
 */
export async function* reconnecting<B extends BatchStatus>(
  openStream: OpenBatches<B>,
  resumeToken: string,
  signal: AbortSignal,
  options: ReconnectOptions & ReconnectLimits,
  { connection, retry }: StreamState = {
    connection: new ConnectionTracker(options.onConnection),
    retry: new RetryPolicy(options),
  },
): AsyncGenerator<B, never, undefined> {
  const open = failWhenSilent(openStream, options);
  const staleness = new StalenessPolicy(options, options.random);
  const { onRetry, sleep: wait = sleep } = options;
  try {
    for (;;) {
      signal.throwIfAborted();
      let failure: KubeconnectError;
      const leaving = new AbortController();
      staleness.opened();
      try {
        for await (const batch of open(AbortSignal.any([signal, leaving.signal]), resumeToken)) {
          resumeToken = batch.resumeToken ?? "";
          retry.received(batch);
          connection.received();
          const stale = staleness.received(batch);
          yield batch;
          if (stale) {
            leaving.abort(stale); // also leaves the connection: see nodetransport.ts
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
  } finally {
    connection.closed();
  }
}
