import type { StreamRequest } from "./request.js";

/** A WebSocket into a container. One reader and one writer may use it at a time. */
export interface ContainerSocket {
  /** The ID with which the service logs the connection; empty if the runtime does not have it. */
  readonly requestId: string;
  /**
   * Sends a message, and waits while too many bytes are unsent. Returns false if the other side has
   * ended the connection as it should be. Rejects with LostError, or with the reason of `close`.
   */
  send(message: Uint8Array): Promise<boolean>;
  /**
   * Waits for the next message and returns it; undefined after the last one. Rejects with LostError, or
   * with the reason of `close`, also if messages were not received yet.
   */
  receive(): Promise<Uint8Array | undefined>;
  /** Ends the connection. A later call has no effect. */
  close(reason: unknown): void;
}

/** Opens a WebSocket, with a token if there is one. Rejects with the signal's reason. */
export type OpenSocket = (
  request: StreamRequest,
  options: { readonly token: string | undefined; readonly signal: AbortSignal },
) => Promise<ContainerSocket>;

/** The connection was lost. The message is the reason. */
export class LostError extends Error {}

/** How a connection has ended. */
type End = { readonly isFinished: true } | { readonly isFinished: false; readonly error: unknown };

/**
 * The messages that a socket has received and that were not read yet. What calls `add` limits their
 * number of bytes by `bytes`; `onRead` is called when messages were read.
 */
export class Inbox {
  readonly #onRead: () => void;
  #messages: Uint8Array[] = [];
  #bytes = 0;
  #end: End | undefined;
  #isClosed = false;
  /** Resumes the reader; undefined if none waits. */
  #wake: (() => void) | undefined;

  constructor(onRead: () => void = () => undefined) {
    this.#onRead = onRead;
  }

  /** The number of bytes that were not read yet. */
  get bytes(): number {
    return this.#bytes;
  }

  get end(): End | undefined {
    return this.#end;
  }

  add(message: Uint8Array): void {
    if (this.#isClosed) return;
    this.#messages.push(message);
    this.#bytes += message.length;
    this.#wakeReader();
  }

  /** Records that the other side has closed the connection, after the messages. */
  closedByPeer(code: number, reason: string): void {
    const isFinished = code === 1000 || code === 1001;
    const problem = reason || (code === 1006 ? "the connection was closed" : `code ${code}`);
    this.#setEnd(isFinished ? { isFinished } : { isFinished, error: new LostError(problem) });
  }

  /** Drops the messages, and rejects the reader. Returns whether nothing had ended it before. */
  close(reason: unknown): boolean {
    if (this.#isClosed) return false;
    this.#isClosed = true;
    this.#messages = [];
    this.#bytes = 0;
    this.#end = { isFinished: false, error: reason };
    this.#wakeReader();
    return true;
  }

  async next(): Promise<Uint8Array | undefined> {
    for (;;) {
      const message = this.#messages.shift();
      if (message) {
        this.#bytes -= message.length;
        this.#onRead();
        return message;
      }
      if (this.#end?.isFinished) return undefined;
      if (this.#end) throw this.#end.error;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  #setEnd(end: End): void {
    this.#end ??= end;
    this.#wakeReader();
  }

  #wakeReader(): void {
    this.#wake?.();
    this.#wake = undefined;
  }
}
