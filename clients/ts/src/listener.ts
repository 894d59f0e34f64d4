/**
 * Calls a function of the program. Returns undefined if it throws: its error is reported as
 * uncaught, and does no harm to the caller.
 */
export function callListener<R>(call: () => R): R | undefined {
  try {
    return call();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
    return undefined;
  }
}
