import type { ClientHttp2Session, ClientHttp2Stream } from "node:http2";
import { finished } from "node:stream";
import { Http2SessionManager } from "@connectrpc/connect-node";

/**
 * The receive window of a stream, in bytes: what the service may send before the client reads it.
 * With the default of 64 KiB the client acknowledges every 32 KiB, which costs as much as reading it.
 */
export const streamWindow = 1 << 20;

/** The receive window of a connection, for all its streams. */
const connectionWindow = 4 << 20;

/**
 * An HTTP/2 connection that reads responses in few pieces. Connect handles each piece in a dozen
 * asynchronous steps, and Node.js makes a piece of every TLS record and every HTTP/2 frame.
 */
export class NodeSession extends Http2SessionManager {
  readonly #prepared = new WeakSet<ClientHttp2Session>();

  override async request(
    ...parameters: Parameters<Http2SessionManager["request"]>
  ): Promise<ClientHttp2Stream> {
    const stream = await super.request(...parameters);
    this.#prepare(stream.session as ClientHttp2Session);
    const pieces = new Pieces(stream);
    return Object.assign(stream, { [Symbol.asyncIterator]: () => pieces });
  }

  #prepare(session: ClientHttp2Session): void {
    if (this.#prepared.has(session)) return;
    this.#prepared.add(session);
    session.setLocalWindowSize(connectionWindow);
    // Connect removes its own listener from a destroyed connection before Node.js emits the error, which would
    // end the program. The streams of the connection have the error too.
    session.on("error", () => undefined);
  }
}

/** The data of a response. Each piece is all that was received since the previous one. */
class Pieces implements AsyncIterator<Uint8Array, undefined> {
  readonly #stream: ClientHttp2Stream;
  #received: Buffer[] = [];
  #size = 0;
  #end: { readonly error: Error | null | undefined } | undefined;
  /** Resumes the reader; undefined if none waits. */
  #wake: (() => void) | undefined;

  constructor(stream: ClientHttp2Stream) {
    this.#stream = stream;
    stream.on("data", (data: Buffer) => {
      this.#receive(data);
    });
    finished(stream, { writable: false }, (error) => {
      this.#end = { error };
      this.#wakeReader();
    });
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    while (this.#received.length === 0) {
      if (this.#end?.error) throw this.#end.error;
      if (this.#end) return { done: true, value: undefined };
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
    return { done: false, value: this.#take() };
  }

  #receive(data: Buffer): void {
    this.#received.push(data);
    this.#size += data.length;
    if (this.#size >= streamWindow) this.#stream.pause();
    this.#wakeReader();
  }

  /** Wakes the reader when all data that the socket has now is received. */
  #wakeReader(): void {
    const wake = this.#wake;
    this.#wake = undefined;
    if (wake) setImmediate(wake);
  }

  #take(): Uint8Array {
    const piece = Buffer.concat(this.#received);
    this.#received = [];
    this.#size = 0;
    if (this.#stream.isPaused()) this.#stream.resume();
    return piece;
  }
}
