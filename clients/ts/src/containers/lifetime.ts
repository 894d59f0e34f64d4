import { Code } from "@connectrpc/connect";
import { failure } from "./outcome.js";

/** How long a call may last: until a signal aborts, or its timeout has passed. */
export class Lifetime {
  /** Aborts with the reason of the first signal that aborts, or with Code.DeadlineExceeded. */
  readonly signal: AbortSignal;
  readonly #timer: ReturnType<typeof setTimeout> | undefined;

  /** `timeoutMs` is 0 for no limit; `event` is what the timeout has passed before. */
  constructor(signals: readonly (AbortSignal | undefined)[], timeoutMs: number, event: string) {
    const ending = new AbortController();
    if (timeoutMs > 0) {
      this.#timer = setTimeout(() => {
        const message = `the timeout has passed before ${event}`;
        ending.abort(failure(Code.DeadlineExceeded, message));
      }, timeoutMs);
    }
    const given = signals.filter((signal) => signal !== undefined);
    this.signal = AbortSignal.any([...given, ending.signal]);
  }

  /** Ends the timeout. */
  end(): void {
    clearTimeout(this.#timer);
  }
}

/** Calls a function when a signal aborts. Returns a function that stops that. */
export function onAbort(signal: AbortSignal, call: () => void): () => void {
  signal.addEventListener("abort", call, { once: true });
  return () => {
    signal.removeEventListener("abort", call);
  };
}
