/**
 * Commands in containers, and their ports, over the WebSocket of the runtime: that of browsers, Deno, Bun
 * and Node.js 22 or newer. Its errors are those of `@kubeconnect/client`.
 *
 * @module
 */
import { parseAddress } from "../address.js";
import { tokenSource, type BearerToken } from "../bearer.js";
import { Containers } from "./containers.js";
import { webSockets } from "./websocket.js";

export * from "./exports.js";

/** Options of a client of containers in a browser. */
export interface WebContainersOptions {
  /** The bearer token of each connection, as that of `connect`. */
  readonly token?: BearerToken | undefined;
  /**
   * The timeout of `exec` in milliseconds, and of the opening of each connection; 0 for no limit. Default:
   * 30,000.
   */
  readonly timeoutMs?: number | undefined;
}

/**
 * Creates a client of the containers of the service at an address, which is that of `connect`. Nothing is
 * connected before the first call. Throws a TypeError for an invalid address.
 */
export function connectContainers(address: string, options: WebContainersOptions = {}): Containers {
  const { token, timeoutMs = 30_000 } = options;
  const baseUrl = parseAddress(address);
  return new Containers({
    open: webSockets(baseUrl),
    token: token === undefined ? undefined : tokenSource(baseUrl, token),
    timeoutMs,
  });
}
