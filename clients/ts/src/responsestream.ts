/** The messages of a stream, read one at a time. A reader that waits can be interrupted. */
export class ResponseStream<M> {
  readonly #closing = new AbortController();
  readonly #messages: AsyncIterator<M, void, undefined>;
  #interrupt: (() => void) | undefined;

  constructor(
    signal: AbortSignal,
    open: (signal: AbortSignal) => AsyncIterable<M, void, undefined>,
  ) {
    const either = AbortSignal.any([signal, this.#closing.signal]);
    this.#messages = open(either)[Symbol.asyncIterator]();
  }

  /** Returns the next message; undefined if the stream has ended or the reader is interrupted. */
  next(): Promise<M | undefined> {
    return new Promise((resolve, reject) => {
      this.#interrupt = () => {
        resolve(undefined);
      };
      this.#messages.next().then(({ value }) => {
        resolve(value ?? undefined);
      }, reject);
    });
  }

  /**
   * Interrupts the reader that waits for a message. That message is lost, so the only thing to do
   * with the stream is to close it.
   */
  interrupt(): void {
    this.#interrupt?.();
  }

  /** Ends the stream. */
  close(): void {
    this.#closing.abort();
  }
}
