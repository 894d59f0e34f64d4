import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { makeDisposable, type Closing } from "../disposable.js";
import { KubeconnectError } from "../error.js";
import type { PortStream } from "./portstream.js";

/** The maximum number of connections that are forwarded at the same time. */
const maxConnections = 100;

/** Options of `portForward`. */
export interface PortForwardOptions {
  /** The port of this host to listen on. Default: a free one. */
  readonly localPort?: number | undefined;
  /**
   * Is called with the error of a connection that could not be forwarded, such as NotFoundError or
   * UnavailableError. Default: a warning of the process.
   */
  readonly onError?: ((error: KubeconnectError) => void) | undefined;
  /** Closes the port. */
  readonly signal?: AbortSignal | undefined;
}

// eslint-disable-next-line @typescript-eslint/no-empty-object-type, @typescript-eslint/no-unsafe-declaration-merging -- what is added to the prototype below
export interface PortForward extends Closing {}

/**
 * A port of this host, on 127.0.0.1, whose connections lead to a port of a pod. At most 100 connections
 * are forwarded at the same time; further ones are closed at once. When the program closes its
 * connection, or one direction of it, the connection to the pod ends too. The port does not keep the
 * process alive.
 */
// eslint-disable-next-line @typescript-eslint/no-unsafe-declaration-merging -- see above
export class PortForward {
  readonly #server: Server;
  readonly #connect: (signal: AbortSignal) => Promise<PortStream>;
  readonly #onError: (error: KubeconnectError) => void;
  readonly #locals = new Set<Socket>();
  readonly #closing = new AbortController();

  static {
    makeDisposable(this.prototype);
  }

  /** @internal */
  constructor(
    connect: (signal: AbortSignal) => Promise<PortStream>,
    onError: (error: KubeconnectError) => void = warn,
  ) {
    this.#connect = connect;
    this.#onError = onError;
    this.#server = createServer({ pauseOnConnect: true }, (local) => {
      this.#accept(local);
    });
    this.#server.maxConnections = maxConnections;
    this.#server.unref();
  }

  /**
   * Listens on a port until a signal aborts. Rejects with the error of Node.js if it is in use.
   *
   * @internal
   */
  async listen(port: number, signal: AbortSignal): Promise<this> {
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(port, "127.0.0.1", () => {
        this.#server.off("error", reject);
        resolve();
      });
    });
    const close = (): void => {
      this.close();
    };
    signal.addEventListener("abort", close, { once: true });
    this.#closing.signal.addEventListener("abort", () => {
      signal.removeEventListener("abort", close);
    });
    if (signal.aborted) this.close();
    return this;
  }

  /** The port of this host; 0 when it is closed. */
  get localPort(): number {
    return (this.#server.address() as AddressInfo | null)?.port ?? 0;
  }

  /** The address of the port of this host, such as "127.0.0.1:49152". */
  get address(): string {
    return `127.0.0.1:${this.localPort}`;
  }

  /** Accepts no more connections, and ends the present ones. Closing it again has no effect. */
  close(): void {
    this.#closing.abort(KubeconnectError.closed());
    this.#server.close();
    for (const local of this.#locals) local.destroy();
  }

  #accept(local: Socket): void {
    this.#locals.add(local);
    local.on("error", () => undefined); // the event "close" follows
    local.once("close", () => this.#locals.delete(local));
    void this.#serve(local);
  }

  async #serve(local: Socket): Promise<void> {
    const leaving = new AbortController();
    local.once("close", () => {
      leaving.abort(KubeconnectError.closed());
    });
    try {
      const remote = await this.#connect(AbortSignal.any([leaving.signal, this.#closing.signal]));
      await exchange(local, remote);
    } catch (error) {
      if (leaving.signal.aborted || this.#closing.signal.aborted) return;
      local.resetAndDestroy();
      this.#onError(KubeconnectError.from(error));
    }
  }
}

/**
 * Copies in both directions until one of both sides has ended the connection. Rejects with the error of
 * the pod's side, and leaves the local connection open then.
 */
async function exchange(local: Socket, remote: PortStream): Promise<void> {
  let isEndedHere = false as boolean;
  const uploading = upload(local, remote).then((isEnded) => {
    isEndedHere = isEnded;
    remote.close();
  });
  try {
    for await (const data of remote) {
      if (local.destroyed) break;
      if (!local.write(data)) await drained(local);
    }
    await ended(local);
  } catch (error) {
    if (!isEndedHere && !local.destroyed) throw error;
  } finally {
    remote.close();
  }
  local.destroy();
  await uploading;
}

/** Sends what a program sends, and returns whether it has ended its connection. */
async function upload(local: Socket, remote: PortStream): Promise<boolean> {
  try {
    for await (const data of local) await remote.write(data as Uint8Array);
    return true;
  } catch {
    return false; // the reader has the error too
  }
}

/** Sends all that was written, and waits until the connection is closed. */
function ended(local: Socket): Promise<void> {
  return new Promise((resolve) => {
    if (local.destroyed) resolve();
    local.once("close", () => {
      resolve();
    });
    local.end(() => {
      local.destroy();
    });
  });
}

function drained(local: Socket): Promise<void> {
  return new Promise((resolve) => {
    local.once("drain", () => {
      resolve();
    });
    local.once("close", () => {
      resolve();
    });
    if (local.destroyed) resolve();
  });
}

function warn(error: KubeconnectError): void {
  process.emitWarning(`a forwarded connection has failed: ${error.message}`, "KubeconnectWarning");
}
