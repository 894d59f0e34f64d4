import { Code, type Transport } from "@connectrpc/connect";
import type { Http2SessionManager } from "@connectrpc/connect-node";
import { KubeconnectError } from "./error.js";

/** An HTTP/2 connection, and the transport over it. */
export interface Connection {
  readonly transport: Transport;
  readonly session: Pick<Http2SessionManager, "abort" | "state">;
}

/**
 * A transport that can replace its connection. When the signal of a stream aborts with
 * Code.Unavailable, the replica of its connection is unusable, and later calls use another
 * connection. Open calls continue on their connections. Streams that leave the same connection
 * share the new one.
 */
export class NodeTransport implements Transport {
  readonly #connect: () => Connection;
  #current: Connection;
  /** The earlier connections that may have open calls. */
  #previous: Connection[] = [];

  readonly #closing = new AbortController();

  constructor(connect: () => Connection) {
    this.#connect = connect;
    this.#current = connect();
  }

  readonly unary: Transport["unary"] = (method, signal, ...rest) =>
    this.#current.transport.unary(method, this.#untilClosed(signal), ...rest);

  readonly stream: Transport["stream"] = (method, signal, ...rest) => {
    const connection = this.#current;
    const leave = (): void => {
      if (isUnavailable(signal?.reason)) this.#leave(connection);
    };
    // Node.js never releases a signal of AbortSignal.any that has aborted and still has a listener.
    signal?.addEventListener("abort", leave, { once: true });
    return connection.transport.stream(method, this.#untilClosed(signal), ...rest);
  };

  /** Ends all calls, and rejects later ones. */
  close(): void {
    this.#closing.abort(KubeconnectError.closed());
    for (const { session } of [...this.#previous, this.#current]) session.abort();
  }

  #untilClosed(signal: AbortSignal | undefined): AbortSignal {
    const closing = this.#closing.signal;
    return AbortSignal.any(signal ? [signal, closing] : [closing]);
  }

  #leave(connection: Connection): void {
    if (connection !== this.#current) return;
    const all = [...this.#previous, connection];
    this.#previous = all.filter(({ session }) => inUse.has(session.state()));
    for (const { session } of all) {
      if (!inUse.has(session.state())) session.abort();
    }
    this.#current = this.#connect();
  }
}

const inUse: ReadonlySet<string> = new Set(["connecting", "open", "verifying"]);

function isUnavailable(reason: unknown): boolean {
  return reason instanceof KubeconnectError && reason.code === Code.Unavailable;
}
