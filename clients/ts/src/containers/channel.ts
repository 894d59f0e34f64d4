/** The messages of WebSockets into containers: the first byte of each is a channel. */

export const stdinChannel = 0;
export const errorChannel = 3;
const resizeChannel = 4;
const closeChannel = 255;

/** The channels of the output of a container. */
export const outputs: ReadonlyMap<number | undefined, "stdout" | "stderr"> = new Map([
  [1, "stdout"],
  [2, "stderr"],
]);

export const portDataChannel = 0;
export const portErrorChannel = 1;

/** The maximum size of the data in a message that is sent. */
const maxDataBytes = 32 * 1024;

/** The message that closes stdin. */
export const closeStdinMessage = Uint8Array.of(closeChannel, stdinChannel);

/** Returns the messages for stdin, or for a port: its channel is 0 too. */
export function* dataMessages(data: Uint8Array): Generator<Uint8Array, void, undefined> {
  for (let begin = 0; begin < data.length; begin += maxDataBytes) {
    const part = data.subarray(begin, begin + maxDataBytes);
    const message = new Uint8Array(1 + part.length);
    message[0] = stdinChannel;
    message.set(part, 1);
    yield message;
  }
}

/** Returns the message with the size of the terminal. Throws a TypeError for an invalid size. */
export function resizeMessage(size: { width: number; height: number }): Uint8Array {
  for (const field of ["width", "height"] as const) {
    const value = size[field];
    if (!Number.isInteger(value) || value < 1 || value > 65535) {
      throw new TypeError(`${field} must be an integer between 1 and 65535, not ${value}`);
    }
  }
  const text = JSON.stringify({ Width: size.width, Height: size.height });
  const body = new TextEncoder().encode(text);
  const message = new Uint8Array(1 + body.length);
  message[0] = resizeChannel;
  message.set(body, 1);
  return message;
}

/** The messages of one connection to a port. The first one of each channel is the port. */
export class PortMessages {
  readonly #begun = new Set<number>();

  /** Returns the channel and the data of a message, which may be empty. */
  split(message: Uint8Array): { channel: number; data: Uint8Array } {
    const [channel = portDataChannel] = message;
    if (this.#begun.has(channel)) return { channel, data: message.subarray(1) };
    if (message.length > 0) this.#begun.add(channel);
    return { channel, data: new Uint8Array() };
  }
}
