// Counts the streams that a client opens.

/** Returns an interceptor, the methods of the streams that it has seen, and how many were open at once. */
export function streamsOf() {
  let open = 0;
  const streams = { methods: new Set(), mostOpen: 0, interceptor };
  return streams;

  function interceptor(next) {
    return async (request) => {
      if (!request.stream) return next(request);
      streams.methods.add(request.method.name);
      streams.mostOpen = Math.max(streams.mostOpen, ++open);
      request.signal.addEventListener("abort", () => open--, { once: true });
      return next(request);
    };
  }
}
