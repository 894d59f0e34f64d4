/**
 * A client for Node.js, over HTTP/2.
 *
 * @module
 */
import { readFile } from "node:fs/promises";
import type { SecureClientSessionOptions } from "node:http2";
import type { Interceptor } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  Http2SessionManager,
} from "@connectrpc/connect-node";
import { bearer, type BearerToken } from "./bearer.js";
import { createClient, type Client } from "./client.js";
import { comeBack } from "./comeback.js";
import { Connections } from "./connections.js";

export * from "./index.js";

/** How to reach the service from a program. */
export interface NodeOptions {
  /** Default: "grpc". */
  readonly protocol?: "grpc" | "connect" | undefined;
  /** Sent with each call to this address, and never in plain text to another host. */
  readonly token?: BearerToken | undefined;
  /**
   * A file with the token, such as that of a projected service account token, which is
   * replaced before it expires. It is read for each call. Not together with `token`.
   */
  readonly tokenFile?: string | undefined;
  /**
   * How long a call may take, in milliseconds; 0 for no limit. It then fails with
   * Code.DeadlineExceeded. Watches and logs have no such limit. Default: 30,000.
   */
  readonly timeoutMs?: number | undefined;
  /** Certificate authorities, client certificate and key, in PEM. */
  readonly tls?: Pick<SecureClientSessionOptions, "ca" | "cert" | "key"> | undefined;
  /** Run around every call. */
  readonly interceptors?: Interceptor[] | undefined;
}

/** A client with a connection of its own. */
export interface NodeClient extends Client {
  /** Ends the connection and every call on it. An idle one keeps no program alive. */
  close(): void;
}

/**
 * A client for the service at this address, such as "https://kubeconnect:8443"
 * or "http://localhost:8080". The connection is opened by the first call, shared
 * by all, and opened again when it was lost. When a followed watch is silent or stale for too
 * long, later calls use another connection, which may lead to another replica.
 */
export function connect(address: string, options: NodeOptions = {}): NodeClient {
  const { protocol = "grpc", tls, timeoutMs = 30_000, interceptors = [] } = options;
  const token = tokenOf(options);
  const tokens = token === undefined ? [] : [bearer(address, token)];
  const connections = new Connections(() => {
    const session = new Http2SessionManager(address, pings, { ...tls, ...sessionOptions });
    const transportOptions = {
      baseUrl: address,
      sessionManager: session,
      interceptors: [comeBack(timeoutMs), ...interceptors, ...tokens],
      ...(timeoutMs > 0 && { defaultTimeoutMs: timeoutMs }),
    };
    const transport =
      protocol === "grpc"
        ? createGrpcTransport(transportOptions)
        : createConnectTransport({ ...transportOptions, httpVersion: "2", useBinaryFormat: true });
    return { transport, session };
  });
  return {
    ...createClient(connections),
    close: () => {
      connections.close();
    },
  };
}

/**
 * A connection that is dead without notice is found by a ping, and every call on it fails
 * with Code.Unavailable. A connection that has received a header too long for Node.js is
 * such a connection: nothing else reports it.
 */
const pings = { pingIntervalMs: 10_000, pingTimeoutMs: 5_000 };

/**
 * Errors come in trailers over gRPC. The service keeps them to 8 KiB; those of proxies may
 * be longer. A single header of more than 64 KiB cannot be received, whatever the settings.
 */
const sessionOptions = { settings: { maxHeaderListSize: 1 << 20 } };

function tokenOf({ token, tokenFile }: NodeOptions): BearerToken | undefined {
  if (tokenFile === undefined) return token;
  if (token !== undefined) throw new TypeError("token and tokenFile cannot both be given");
  return async () => (await readFile(tokenFile, "utf8")).trim();
}
