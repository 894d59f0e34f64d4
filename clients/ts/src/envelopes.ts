import { Code, ConnectError } from "@connectrpc/connect";

/** A message of a stream, with the flags of its prefix. */
export interface Envelope {
  readonly flags: number;
  readonly data: Uint8Array<ArrayBuffer>;
}

/** Splits a stream into its messages. Each of them has a prefix: its flags, and its length. */
export class Envelopes {
  /** What was received of the next message. */
  #pieces: Uint8Array[] = [];
  #size = 0;
  /** The size up to which nothing can be read. */
  #needed = prefixLength;

  /** Returns the messages that a piece completes. They are copies, and do not hold the piece. */
  *read(piece: Uint8Array): Generator<Envelope, void, undefined> {
    this.#pieces.push(piece);
    this.#size += piece.length;
    while (this.#size >= this.#needed) {
      const received = this.#join();
      this.#pieces = [received];
      const prefix = new DataView(received.buffer, received.byteOffset, prefixLength);
      this.#needed = prefixLength + prefix.getUint32(1);
      if (this.#size < this.#needed) return;
      const data = new Uint8Array(received.subarray(prefixLength, this.#needed));
      const rest = received.subarray(this.#needed);
      this.#pieces = rest.length > 0 ? [rest] : []; // an empty one would hold what was received
      this.#size = rest.length;
      this.#needed = prefixLength;
      yield { flags: prefix.getUint8(0), data };
    }
  }

  /** Throws if the stream has ended within a message. */
  end(): void {
    if (this.#size > 0) {
      throw new ConnectError("protocol error: premature end of stream", Code.Internal);
    }
  }

  #join(): Uint8Array {
    const [first, ...more] = this.#pieces;
    if (first && more.length === 0) return first;
    const all = new Uint8Array(this.#size);
    let offset = 0;
    for (const piece of this.#pieces) {
      all.set(piece, offset);
      offset += piece.length;
    }
    return all;
  }
}

const prefixLength = 5;
