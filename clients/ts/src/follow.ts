import { Code } from "@connectrpc/connect";
import { KubeconnectError } from "./error.js";
import { RetryPolicy, type RetryOptions } from "./retry.js";
import { sleep, type Sleep } from "./sleep.js";
import type { WatchBatch } from "./watch.js";
import type { OpenBatches } from "./watchdog.js";

/** How to follow a watch. */
export interface FollowOptions extends RetryOptions {
  /** Ends the watch and any wait. */
  readonly signal: AbortSignal;
  /** Where to begin: a token that was stored by an earlier run. Default: anew. */
  readonly resumeToken?: string | undefined;
  /** Told of each failure that is going to be retried, and after how long. */
  readonly onRetry?: ((error: KubeconnectError, delayMs: number) => void) | undefined;
  /** How to wait between attempts. Default: the clock. */
  readonly sleep?: Sleep | undefined;
}

/**
 * A watch that goes on: when its stream fails or ends, a new one is opened after
 * a while and continues where the last one was. Where it cannot, it begins with
 * RESET and a snapshot; so whoever applies all batches ends up with the cluster's
 * state. Throws on a failure that trying again cannot cure.
 *
 *     const open = (signal: AbortSignal, resumeToken: string) =>
 *       client.watch("pods", {}, { signal, resumeToken }).batches();
 *     for await (const batch of follow(open, { signal })) …
 */
export async function* follow<B extends WatchBatch<unknown>>(
  open: OpenBatches<B>,
  options: FollowOptions,
): AsyncGenerator<B, never, undefined> {
  const retry = new RetryPolicy(options);
  const { signal, onRetry, sleep: wait = sleep } = options;
  let resumeToken = options.resumeToken ?? "";
  for (;;) {
    signal.throwIfAborted();
    let failure: KubeconnectError;
    try {
      for await (const batch of open(signal, resumeToken)) {
        resumeToken = batch.resumeToken;
        retry.received(batch);
        yield batch;
      }
      failure = KubeconnectError.unavailable("the service ended the stream");
    } catch (error) {
      signal.throwIfAborted();
      failure = KubeconnectError.from(error);
    }
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
