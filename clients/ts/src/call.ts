import {
  createContextKey,
  createContextValues,
  type CallOptions as ConnectOptions,
} from "@connectrpc/connect";
import { KubeconnectError } from "./error.js";
import { derived } from "./signal.js";
import { withTraceContext } from "./tracecontext.js";

/** Options of watches and logs, which have no timeout. */
export interface StreamOptions {
  /** Cancels the call, which then fails with the signal's reason. */
  readonly signal?: AbortSignal | undefined;
  /**
   * Headers to send with the call. The client's token takes precedence over `Authorization`, and
   * `traceparent` over the active context of OpenTelemetry.
   */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

/** Options of all other calls. */
export interface CallOptions extends StreamOptions {
  /**
   * The timeout in milliseconds, after which the call fails with Code.DeadlineExceeded; 0 for no
   * limit. It applies to each page of a list and of a table. Default: the `timeoutMs` of `connect`.
   */
  readonly timeoutMs?: number | undefined;
}

/** Options of all reads. */
export interface ReadOptions extends CallOptions {
  /**
   * Waits until the cache has reached this version. With the version of a write's result, the
   * read sees that write. Fails with Code.DeadlineExceeded after five seconds.
   */
  readonly minResourceVersion?: string | undefined;
}

/** The timeout of a call, for interceptors; undefined for the default of the transport. */
export const callTimeout = createContextKey<number | undefined>(undefined, {
  description: "the timeout of a call",
});

/** Makes a unary call and converts its errors to KubeconnectError. */
export async function unary<T>(
  { signal, timeoutMs, headers }: CallOptions,
  call: (options: ConnectOptions) => Promise<T>,
): Promise<T> {
  try {
    return await call({
      ...(signal && { signal: derived(signal) }),
      ...headersField(headers),
      ...(timeoutMs !== undefined && {
        timeoutMs,
        contextValues: createContextValues().set(callTimeout, timeoutMs),
      }),
    });
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
  { signal, headers }: StreamOptions,
  call: (options: ConnectOptions) => AsyncIterable<T>,
): AsyncGenerator<T, void, undefined> {
  const leaving = new AbortController();
  const either = signal ? AbortSignal.any([signal, leaving.signal]) : leaving.signal;
  try {
    yield* call({ signal: either, timeoutMs: 0, ...headersField(headers) });
  } catch (error) {
    signal?.throwIfAborted();
    throw KubeconnectError.from(error);
  } finally {
    leaving.abort();
  }
}

function headersField(own: StreamOptions["headers"]): Pick<ConnectOptions, "headers"> {
  const headers = withTraceContext(own);
  return headers ? { headers } : {};
}
