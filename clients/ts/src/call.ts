import { KubeconnectError } from "./error.js";
import { derived } from "./signal.js";

/** Options of all calls. */
export interface CallOptions {
  /** Cancels the call, which then fails with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
}

/** Options of all reads. */
export interface ReadOptions extends CallOptions {
  /**
   * Waits until the cache has reached this version. With the version of a write's result, the
   * read sees that write. Fails with Code.DeadlineExceeded after five seconds.
   */
  readonly minResourceVersion?: string | undefined;
}

/** Makes a unary call and converts its errors to KubeconnectError. */
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
 * Opens a server stream without a deadline and converts its errors to KubeconnectError. The
 * stream is cancelled when the caller leaves the loop, because Connect would keep it open.
 */
export async function* stream<T>(
  { signal }: CallOptions,
  call: (options: { signal: AbortSignal; timeoutMs: number }) => AsyncIterable<T>,
): AsyncGenerator<T, void, undefined> {
  const leaving = new AbortController();
  const either = signal ? AbortSignal.any([signal, leaving.signal]) : leaving.signal;
  try {
    yield* call({ signal: either, timeoutMs: 0 });
  } catch (error) {
    signal?.throwIfAborted();
    throw KubeconnectError.from(error);
  } finally {
    leaving.abort();
  }
}
