/**
 * A client for Node.js, over HTTP/2.
 *
 * @module
 */
import type { SecureClientSessionOptions } from "node:http2";
import type { Interceptor } from "@connectrpc/connect";
import {
  createConnectTransport,
  createGrpcTransport,
  Http2SessionManager,
} from "@connectrpc/connect-node";
import { bearer, type BearerToken } from "./bearer.js";
import { createClient, type Client } from "./client.js";

export * from "./index.js";

/** How to reach the service from a program. */
export interface NodeOptions {
  /** Default: "grpc". */
  readonly protocol?: "grpc" | "connect" | undefined;
  /** Sent with each call to this address, and never in plain text to another host. */
  readonly token?: BearerToken | undefined;
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
 * by all, and opened again when it was lost.
 */
export function connect(address: string, options: NodeOptions = {}): NodeClient {
  const { protocol = "grpc", token, tls, interceptors = [] } = options;
  // A connection that died without a word is found out by a ping.
  const sessionManager = new Http2SessionManager(address, { pingIntervalMs: 30_000 }, tls);
  const transportOptions = {
    baseUrl: address,
    sessionManager,
    interceptors: token === undefined ? interceptors : [...interceptors, bearer(address, token)],
  };
  const transport =
    protocol === "grpc"
      ? createGrpcTransport(transportOptions)
      : createConnectTransport({ ...transportOptions, httpVersion: "2", useBinaryFormat: true });
  return {
    ...createClient(transport),
    close: () => {
      sessionManager.abort();
    },
  };
}
