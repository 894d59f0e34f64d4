import { derived } from "./signal.js";

/** A function that waits. It rejects with the signal's reason if the signal aborts first. */
export type Sleep = (ms: number, signal: AbortSignal) => Promise<void>;

/** Waits with a timer. */
export const sleep: Sleep = (ms, ended) =>
  new Promise((resolve, reject) => {
    const signal = derived(ended);
    signal.throwIfAborted();
    const timer = setTimeout(done, ms);
    signal.addEventListener("abort", aborted);

    function done(): void {
      signal.removeEventListener("abort", aborted);
      resolve();
    }
    function aborted(): void {
      clearTimeout(timer);
      signal.removeEventListener("abort", aborted);
      // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- as fetch does
      reject(signal.reason);
    }
  });
