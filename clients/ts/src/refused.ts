import { constants } from "node:http2";
import { ConnectError, type Interceptor } from "@connectrpc/connect";
import { createAsyncIterable } from "@connectrpc/connect/protocol";

/** The number of attempts of a call. Each refused one has lost its connection. */
const attempts = 5;

/**
 * Repeats calls that HTTP/2 reports as not begun, writes included: those that were sent on a connection
 * that the other side was about to end.
 */
export const retryRefused: Interceptor = (next) => async (request) => {
  const messages = request.stream ? await all(request.message) : [];
  for (let attempt = 1; ; attempt++) {
    try {
      return await next(
        request.stream ? { ...request, message: createAsyncIterable(messages) } : request,
      );
    } catch (error) {
      if (attempt === attempts || !isRefused(error)) throw error;
    }
  }
};

function isRefused(error: unknown): boolean {
  if (!(error instanceof ConnectError)) return false;
  const { rawMessage, cause } = error;
  return [rawMessage, cause instanceof Error ? cause.message : ""].some((message) =>
    refusals.some((refusal) => message.includes(refusal)),
  );
}

/** The messages of Node.js, and of Connect, for a stream with this error code. */
const refusals = [
  "NGHTTP2_REFUSED_STREAM",
  `REFUSED_STREAM (0x${constants.NGHTTP2_REFUSED_STREAM.toString(16)})`,
];

async function all<M>(messages: AsyncIterable<M>): Promise<M[]> {
  const list: M[] = [];
  for await (const message of messages) list.push(message);
  return list;
}
