import { Code, type Interceptor } from "@connectrpc/connect";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { KubeconnectError } from "./error.js";
import { sleep, type Sleep } from "./sleep.js";

/**
 * Makes reads that are refused with a time to come back at again then, if that is within the
 * time that a call may take. Changes are not made again.
 *
 * @param timeoutMs how long a call may take; 0 for no limit.
 */
export function comeBack(timeoutMs: number, wait: Sleep = sleep): Interceptor {
  return (next) => async (request) => {
    const limit = Date.now() + (timeoutMs > 0 ? timeoutMs : Infinity);
    for (;;) {
      try {
        return await next(request);
      } catch (error) {
        const { code, retryAfterSeconds } = KubeconnectError.from(error);
        const delay = retryAfterSeconds * 1000;
        const isRead =
          request.method.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
        const mayPass = isRead && !request.stream && refusals.has(code);
        if (!mayPass || delay === 0 || Date.now() + delay >= limit) throw error;
        await wait(delay, request.signal);
      }
    }
  };
}

const refusals: ReadonlySet<Code> = new Set([Code.ResourceExhausted, Code.Unavailable]);
