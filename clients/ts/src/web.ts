/**
 * A client for browsers, over Connect-Web.
 *
 * @module
 */
import type { Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { createClient, type Client } from "./client.js";

export * from "./index.js";

/** How to reach the service from a page. */
export interface WebOptions {
  /** Run around every call, for example to add a header. */
  readonly interceptors?: Interceptor[] | undefined;
}

/** A client for the service at this address; `window.location.origin` if it serves the page. */
export function connect(address: string, options: WebOptions = {}): Client {
  const transport = createConnectTransport({
    baseUrl: address,
    useBinaryFormat: true,
    interceptors: options.interceptors ?? [],
  });
  return createClient(transport);
}
