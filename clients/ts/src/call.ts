import { KubeconnectError } from "./error.js";
import { derived } from "./signal.js";

/** What every call takes. */
export interface CallOptions {
  /** Ends the call; it then fails with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** What every read takes. */
export interface ReadOptions extends CallOptions {
  /**
   * Waits until the service has seen this version: with that of a write's answer,
   * the read sees that write. Code.DeadlineExceeded after five seconds.
   */
  readonly minResourceVersion?: string | undefined;
}

/** A unary call, with its errors in this package's terms. */
export async function unary<T>(
  { signal }: CallOptions,
  call: (options: { signal?: AbortSignal }) => Promise<T>,
): Promise<T> {
  try {
    return await call(signal ? { signal: derived(signal) } : {});
  } catch (error) {
    signal?.throwIfAborted();
    throw KubeconnectError.from(error);
  }
}

/**
 * A server stream, with its errors in this package's terms. The stream ends when
 * the caller leaves the loop: Connect's own would stay open. It has no deadline.
 */
export async function* stream<T>(
  { signal }: CallOptions,
  call: (options: { signal: AbortSignal; timeoutMs: number }) => AsyncIterable<T>,
): AsyncGenerator<T, void, undefined> {
  const left = new AbortController();
  const either = signal ? AbortSignal.any([signal, left.signal]) : left.signal;
  try {
    yield* call({ signal: either, timeoutMs: 0 });
  } catch (error) {
    signal?.throwIfAborted();
    throw KubeconnectError.from(error);
  } finally {
    left.abort();
  }
}
