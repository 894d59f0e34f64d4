/**
 * A client for Node.js, over HTTP/2.
 *
 * @module
 */
import type { SecureClientSessionOptions } from "node:http2";
import type { Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { parseAddress } from "./address.js";
import { adviseTls } from "./advice.js";
import { bearer, isRenewable, type BearerToken } from "./bearer.js";
import { createClient, type Client } from "./client.js";
import { grpcTransport } from "./grpctransport.js";
import { NodeSession, streamWindow } from "./nodesession.js";
import { tokenOf } from "./nodetoken.js";
import { NodeTransport } from "./nodetransport.js";
import { retryRefused } from "./refused.js";
import { retryReads } from "./retryreads.js";

export * from "./index.js";

/** Options of a Node.js client. */
export interface NodeOptions {
  /** The protocol. Default: "grpc". */
  readonly protocol?: "grpc" | "connect" | undefined;
  /** The bearer token of each call. It is never sent in plain text to another host. */
  readonly token?: BearerToken | undefined;
  /**
   * The path of a file with the token, such as a projected service account token, which is
   * replaced before it expires. It is read for each call. Not together with `token`.
   */
  readonly tokenFile?: string | undefined;
  /**
   * The timeout of a call in milliseconds, after which it fails with Code.DeadlineExceeded; 0
   * for no limit. Watches and logs have no timeout. Default: 30,000.
   */
  readonly timeoutMs?: number | undefined;
  /** CA certificates, client certificate and key, in PEM. */
  readonly tls?: Pick<SecureClientSessionOptions, "ca" | "cert" | "key"> | undefined;
  /** Interceptors of all calls. */
  readonly interceptors?: Interceptor[] | undefined;
}

/** A client that owns its connection. */
export interface NodeClient extends Client {
  /**
   * Closes the connection and cancels all calls on it, watches included. Later calls fail with
   * Code.Canceled. An idle connection does not keep the process alive.
   */
  close(): void;
}

/**
 * Creates a client for the service at an address, such as "https://kubeconnect:8443" or
 * "http://localhost:8080". The connection is opened by the first call, shared by all calls, and
 * opened again after a loss. When a watch is silent for too long, later calls use another
 * connection, which may lead to another replica. Without a scheme, a loopback address
 * uses http and any other https. The address may have a path, as behind a proxy. Throws a TypeError
 * for another address.
 */
export function connect(address: string, options: NodeOptions = {}): NodeClient {
  const { protocol = "grpc", tls, timeoutMs = 30_000, interceptors = [] } = options;
  const baseUrl = parseAddress(address);
  const token = tokenOf(options);
  const tokens = token === undefined ? [] : [bearer(baseUrl, token)];
  const advice = baseUrl.startsWith("http:") ? [adviseTls] : [];
  const connections = new NodeTransport(() => {
    const session = new NodeSession(baseUrl, pings, { ...tls, ...sessionOptions });
    const transportOptions = {
      baseUrl,
      sessionManager: session,
      interceptors: [retryReads(timeoutMs), ...interceptors, ...tokens, ...advice, retryRefused],
      ...(timeoutMs > 0 && { defaultTimeoutMs: timeoutMs }),
    };
    const transport =
      protocol === "grpc"
        ? grpcTransport(transportOptions)
        : createConnectTransport({ ...transportOptions, httpVersion: "2", useBinaryFormat: true });
    return { transport, session };
  });
  return {
    ...createClient(connections, { renewsCredentials: isRenewable(token) }),
    close: () => {
      connections.close();
    },
  };
}

/**
 * Pings detect a connection that is dead without having been closed, and all calls on it fail
 * with Code.Unavailable. A connection that has received a header that is too long for Node.js is
 * in this state too, which nothing else reports.
 */
const pings = { pingIntervalMs: 10_000, pingTimeoutMs: 5_000 };

/**
 * gRPC sends errors in trailers. The service bounds its errors to 8 KiB; errors of proxies may be
 * longer. A single header of more than 64 KiB cannot be received, whatever the settings.
 */
const sessionOptions = {
  settings: { maxHeaderListSize: 1 << 20, initialWindowSize: streamWindow },
};
