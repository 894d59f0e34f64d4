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

  constructor(connect: () => Connection) {
    this.#connect = connect;
    this.#current = connect();
  }

  readonly unary: Transport["unary"] = (...call) => this.#current.transport.unary(...call);

  readonly stream: Transport["stream"] = (method, signal, ...rest) => {
    const connection = this.#current;
    signal?.addEventListener("abort", () => {
      if (isUnavailable(signal.reason)) this.#leave(connection);
    });
    return connection.transport.stream(method, signal, ...rest);
  };

  /** Ends all calls. */
  close(): void {
    for (const { session } of [...this.#previous, this.#current]) session.abort();
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
