import { Code, type Interceptor } from "@connectrpc/connect";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { callTimeout } from "./call.js";
import { KubeconnectError } from "./error.js";
import { sleep, type Sleep } from "./sleep.js";

/**
 * Creates an interceptor that retries reads that are rejected with a retry delay, after that
 * delay, if it ends within the timeout of the call. Writes are not retried.
 *
 * @param defaultTimeoutMs The timeout of calls without a timeout of their own; 0 for no limit.
 */
export function retryReads(defaultTimeoutMs: number, wait: Sleep = sleep): Interceptor {
  return (next) => async (request) => {
    const timeoutMs = request.contextValues.get(callTimeout) ?? defaultTimeoutMs;
    const limit = Date.now() + (timeoutMs > 0 ? timeoutMs : Infinity);
    for (;;) {
      try {
        return await next(request);
      } catch (error) {
        const { code, retryAfterSeconds } = KubeconnectError.from(error);
        const delay = retryAfterSeconds * 1000;
        const isRead =
          request.method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
        const retryable = isRead && !request.stream && retryableCodes.has(code);
        if (!retryable || delay === 0 || Date.now() + delay >= limit) throw error;
        await wait(delay, request.signal);
      }
    }
  };
}

const retryableCodes: ReadonlySet<Code> = new Set([Code.ResourceExhausted, Code.Unavailable]);
