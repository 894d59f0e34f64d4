import { Code } from "@connectrpc/connect";
import { makeDisposable, type Closing } from "../disposable.js";
import {
  closeStdinMessage,
  dataMessages,
  errorChannel,
  outputs,
  resizeMessage,
} from "./channel.js";
import { onAbort, type Lifetime } from "./lifetime.js";
import { exitCodeOf, failure, lost } from "./outcome.js";
import type { StreamRequest } from "./request.js";
import { LostError, type ContainerSocket } from "./socket.js";

/** A part of the output of a container, as it arrived. */
export interface OutputChunk {
  /** A terminal has only "stdout". */
  readonly stream: "stdout" | "stderr";
  /** Its bytes, which may begin and end within a line or a character. */
  readonly data: Uint8Array;
}

// eslint-disable-next-line @typescript-eslint/no-empty-object-type, @typescript-eslint/no-unsafe-declaration-merging -- what is added to the prototype below
export interface ContainerSession extends Closing {}

/**
 * A command that runs in a container, or a client that is attached to its main process. Iterate over
 * its output, as chunks of stdout and of stderr, until it ends. Then `exitCode` is set. A program may
 * write at the same time, and must if the command does not read its input before it writes its output.
 *
 * The iteration throws an error if the command could not run, UnavailableError if the connection is
 * lost, CancelledError if the session is closed meanwhile, and the reason of the signal if it aborts.
 * Leaving the loop does not end the session: call `close`. Whether a command that still runs is ended
 * then depends on the container runtime.
 */
// eslint-disable-next-line @typescript-eslint/no-unsafe-declaration-merging -- see above
export class ContainerSession implements AsyncIterable<OutputChunk> {
  readonly #socket: ContainerSocket;
  readonly #request: StreamRequest;
  readonly #lifetime: Lifetime;
  readonly #stopListening: () => void;
  #exitCode: number | undefined;

  static {
    makeDisposable(this.prototype);
  }

  /** @internal */
  constructor(socket: ContainerSocket, request: StreamRequest, lifetime: Lifetime) {
    this.#socket = socket;
    this.#request = request;
    this.#lifetime = lifetime;
    this.#stopListening = onAbort(lifetime.signal, () => {
      this.fail(lifetime.signal.reason);
    });
  }

  /** The exit code; undefined if the command has not ended, or if its output was not read to the end. */
  get exitCode(): number | undefined {
    return this.#exitCode;
  }

  /**
   * Sends data to stdin, text as UTF-8. Waits while the command does not read. What is written after the
   * command has ended is dropped.
   */
  async write(data: Uint8Array | string): Promise<void> {
    if (!this.#request.stdin) throw new TypeError("the session has no stdin: pass stdin: true");
    const bytes = typeof data === "string" ? new TextEncoder().encode(data) : data;
    for (const message of dataMessages(bytes)) await this.#send(message);
  }

  /** Closes stdin: the command reads the end of its input. */
  async closeStdin(): Promise<void> {
    if (!this.#request.stdin) throw new TypeError("the session has no stdin: pass stdin: true");
    await this.#send(closeStdinMessage);
  }

  /** Sets the width and the height of the terminal, in characters. */
  async resize(size: { readonly width: number; readonly height: number }): Promise<void> {
    if (!this.#request.tty) throw new TypeError("the session has no terminal: pass tty: true");
    await this.#send(resizeMessage(size));
  }

  /** Waits for output and returns it; undefined after its end. */
  async read(): Promise<OutputChunk | undefined> {
    while (this.#exitCode === undefined) {
      const message = await this.#receive();
      const stream = outputs.get(message[0]);
      if (message[0] === errorChannel) {
        this.#exitCode = exitCodeOf(message.subarray(1), this.#socket.requestId);
      } else if (stream && message.length > 1) {
        return { stream, data: message.subarray(1) };
      }
    }
    return undefined;
  }

  /** Iterates over the output until it ends. */
  async *[Symbol.asyncIterator](): AsyncGenerator<OutputChunk, void, undefined> {
    for (let chunk; (chunk = await this.read());) yield chunk;
  }

  /** Closes the connection. Closing it again has no effect. */
  close(): void {
    this.fail(failure(Code.Canceled, "the session is closed", this.#socket.requestId));
  }

  /**
   * Closes the connection, with the error of a read that waits for output.
   *
   * @internal
   */
  fail(reason: unknown): void {
    this.#stopListening();
    this.#lifetime.end();
    this.#socket.close(reason);
  }

  async #send(message: Uint8Array): Promise<void> {
    try {
      await this.#socket.send(message);
    } catch (error) {
      throw this.#failed(error);
    }
  }

  async #receive(): Promise<Uint8Array> {
    try {
      const message = await this.#socket.receive();
      if (message) return message;
    } catch (error) {
      throw this.#failed(error);
    }
    throw lost("the session", "the connection was closed", this.#socket.requestId);
  }

  #failed(error: unknown): unknown {
    if (!(error instanceof LostError)) return error;
    return lost("the session", error.message, this.#socket.requestId);
  }
}
