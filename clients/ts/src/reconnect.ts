import { Code } from "@connectrpc/connect";
import { ConnectionTracker, type ConnectionState } from "./connection.js";
import { KubeconnectError } from "./error.js";
import {
  RetryPolicy,
  type CredentialOptions,
  type Progress,
  type RetryDelays,
  type RetryOptions,
} from "./retry.js";
import { failWhenSilent, type OpenBatches, type SilenceLimits } from "./silence.js";
import { sleep, type Sleep } from "./sleep.js";

/** How a watch reconnects. */
export interface ReconnectOptions extends RetryOptions {
  /** Called for each failure that will be retried, with the delay before the next attempt. */
  readonly onRetry?: ((error: KubeconnectError, delayMs: number) => void) | undefined;
  /** Called when the connection is established, lost or closed. */
  readonly onConnection?: ((connection: ConnectionState) => void) | undefined;
  /** The function that waits between attempts. Default: a timer. */
  readonly sleep?: Sleep | undefined;
}

/** What the client knows of the credentials, and the limits that only tests change. */
export interface ReconnectLimits extends CredentialOptions, RetryDelays, SilenceLimits {}

/** The state of a watch that its iterations share. */
export interface StreamState {
  readonly connection: ConnectionTracker;
  readonly retry: RetryPolicy;
}

/**
 * Yields the batches of a watch over all its streams. When a stream fails, ends or is silent for
 * too long, a new stream is opened after a delay and resumes at the last position. If the service
 * cannot resume there, or rejects the token, the stream begins with RESET and a snapshot. After
 * silence, the Node.js client of this package opens another connection, which may lead to another
 * replica. A stream that is stale remains open: the service ends it if another replica is current.
 * Throws on a failure that is final.
 */
export async function* reconnecting<B extends Progress>(
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
  const { onRetry, sleep: wait = sleep } = options;
  try {
    for (;;) {
      signal.throwIfAborted();
      let failure: KubeconnectError;
      let resumes = resumeToken !== "";
      try {
        for await (const batch of open(signal, resumeToken)) {
          resumeToken = batch.resumeToken ?? "";
          resumes = false;
          retry.received(batch);
          connection.received();
          yield batch;
        }
        failure = KubeconnectError.unavailable("the service ended the stream");
      } catch (error) {
        signal.throwIfAborted();
        failure = KubeconnectError.from(error);
      }
      connection.failed(failure);
      const delay = retry.failed(failure, resumes);
      if (delay === undefined) {
        throw failure;
      }
      if (failure.code === Code.InvalidArgument) {
        resumeToken = ""; // this replica may be unable to read it
      }
      onRetry?.(failure, delay);
      await wait(delay, signal);
    }
  } finally {
    connection.closed();
  }
}
