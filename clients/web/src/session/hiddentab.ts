import type { Interceptor } from "@connectrpc/connect";

/** How long a tab must be hidden until its streams are closed. */
const graceMs = 60_000;

/**
 * Whether the streams of the page are open. They are closed when the tab has been hidden for a
 * minute, and opened again, with their tokens, when it is shown.
 */
export class HiddenTab {
  #pausing = new AbortController();
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #listeners = new Set<() => void>();

  /** Whether the streams are closed. Needs no `this`. */
  readonly isPaused = (): boolean => this.#pausing.signal.aborted;

  /** Calls the listener after each change of `isPaused`. Needs no `this`. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Follows the visibility of a document until the returned function is called. */
  follow(document: Document): () => void {
    const onChange = (): void => {
      if (document.hidden) this.#hidden();
      else this.#shown();
    };
    document.addEventListener("visibilitychange", onChange);
    return () => {
      document.removeEventListener("visibilitychange", onChange);
      clearTimeout(this.#timer);
    };
  }

  /** Returns a signal that aborts when streams are to be closed. */
  get signal(): AbortSignal {
    return this.#pausing.signal;
  }

  /** Waits until streams may be open. Rejects if the signal aborts. */
  async open(signal: AbortSignal): Promise<void> {
    while (this.isPaused()) await this.#changed(signal);
    signal.throwIfAborted();
  }

  #changed(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    return new Promise((resolve) => {
      const done = (): void => {
        unsubscribe();
        signal.removeEventListener("abort", done);
        resolve();
      };
      const unsubscribe = this.subscribe(done);
      signal.addEventListener("abort", done);
    });
  }

  #hidden(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#pausing.abort();
      this.#notify();
    }, graceMs);
  }

  #shown(): void {
    clearTimeout(this.#timer);
    if (!this.isPaused()) return;
    this.#pausing = new AbortController();
    this.#notify();
  }

  #notify(): void {
    for (const listener of [...this.#listeners]) listener();
  }
}

/** Creates an interceptor that closes the stream of all live data while the tab is hidden. */
export function pauseWhileHidden(tab: HiddenTab): Interceptor {
  return (next) => async (request) => {
    if (!request.stream || request.method.name !== "WatchMany") return next(request);
    await tab.open(request.signal);
    return next({ ...request, signal: AbortSignal.any([request.signal, tab.signal]) });
  };
}
