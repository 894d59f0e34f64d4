import { Code } from "@connectrpc/connect";
import { makeDisposable, type Closing } from "../disposable.js";
import { dataMessages, PortMessages, portDataChannel, portErrorChannel } from "./channel.js";
import { onAbort, type Lifetime } from "./lifetime.js";
import { failure, lost, portFailed } from "./outcome.js";
import { LostError, type ContainerSocket } from "./socket.js";

// eslint-disable-next-line @typescript-eslint/no-empty-object-type, @typescript-eslint/no-unsafe-declaration-merging -- what is added to the prototype below
export interface PortStream extends Closing {}

/**
 * One connection to a port of a pod. A program may read and write at the same time. The protocol cannot
 * close one direction only: `close` ends both.
 */
// eslint-disable-next-line @typescript-eslint/no-unsafe-declaration-merging -- see above
export class PortStream implements AsyncIterable<Uint8Array> {
  readonly #socket: ContainerSocket;
  readonly #port: number;
  readonly #lifetime: Lifetime;
  readonly #stopListening: () => void;
  readonly #messages = new PortMessages();
  #hasEnded = false;

  static {
    makeDisposable(this.prototype);
  }

  /** @internal */
  constructor(socket: ContainerSocket, port: number, lifetime: Lifetime) {
    this.#socket = socket;
    this.#port = port;
    this.#lifetime = lifetime;
    this.#stopListening = onAbort(lifetime.signal, () => {
      this.#close(lifetime.signal.reason);
    });
  }

  /** Sends data to the port. Waits while it is not sent. */
  async write(data: Uint8Array): Promise<void> {
    for (const message of dataMessages(data)) {
      if (!(await this.#result(this.#socket.send(message)))) {
        throw lost("the connection", "the other side has ended it", this.#socket.requestId);
      }
    }
  }

  /**
   * Waits for data and returns it; undefined if the pod has ended the connection. Rejects with
   * UnavailableError if the node could not connect to the port, or if the connection is lost, and with
   * CancelledError if it is closed meanwhile.
   */
  async read(): Promise<Uint8Array | undefined> {
    while (!this.#hasEnded) {
      const message = await this.#result(this.#socket.receive());
      if (!message) {
        this.#hasEnded = true;
        break;
      }
      const { channel, data } = this.#messages.split(message);
      if (data.length === 0) continue;
      if (channel === portErrorChannel) throw portFailed(data, this.#port, this.#socket.requestId);
      if (channel === portDataChannel) return data;
    }
    return undefined;
  }

  /** Iterates over the data until the pod ends the connection. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array, void, undefined> {
    for (let data; (data = await this.read());) yield data;
  }

  /** Closes the connection. Closing it again has no effect. */
  close(): void {
    this.#close(failure(Code.Canceled, "the connection is closed", this.#socket.requestId));
  }

  #close(reason: unknown): void {
    this.#stopListening();
    this.#lifetime.end();
    this.#socket.close(reason);
  }

  async #result<T>(pending: Promise<T>): Promise<T> {
    try {
      return await pending;
    } catch (error) {
      if (!(error instanceof LostError)) throw error;
      throw lost("the connection", error.message, this.#socket.requestId);
    }
  }
}
