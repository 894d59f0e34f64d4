// Counts the snapshots that the service sends, which a client does not show.

import { EventType } from "@kubeconnect/client/proto";

/** Returns an interceptor, and the number of RESET events that it has seen. */
export function resetsOf() {
  const resets = { count: 0, interceptor };
  return resets;

  function interceptor(next) {
    return async (request) => {
      const response = await next(request);
      return response.stream ? { ...response, message: counted(response.message) } : response;
    };
  }

  async function* counted(messages) {
    for await (const message of messages) {
      const { events = [] } = message.response ?? message; // a WatchMany has the response of a watch
      resets.count += events.filter(({ type }) => type === EventType.RESET).length;
      yield message;
    }
  }
}
