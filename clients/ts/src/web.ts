/**
 * A client for browsers, over Connect-Web.
 *
 * @module
 */
import type { Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { bearer, type BearerToken } from "./bearer.js";
import { createClient, type Client } from "./client.js";
import { comeBack } from "./comeback.js";

export * from "./index.js";

/** How to reach the service from a page. */
export interface WebOptions {
  /**
   * Sent with each call to this address, nowhere else, and never in plain text to
   * another host. A token must not be part of the page's code, which everybody can
   * read: take it from who uses the page, or from where they have signed in.
   */
  readonly token?: BearerToken | undefined;
  /**
   * How long a call may take, in milliseconds; 0 for no limit. It then fails with
   * Code.DeadlineExceeded. Watches and logs have no such limit. Default: 30,000.
   */
  readonly timeoutMs?: number | undefined;
  /** Run around every call, for example to add a header. */
  readonly interceptors?: Interceptor[] | undefined;
}

/** A client for the service at this address; `window.location.origin` if it serves the page. */
export function connect(address: string, options: WebOptions = {}): Client {
  const { token, timeoutMs = 30_000, interceptors = [] } = options;
  const transport = createConnectTransport({
    baseUrl: address,
    useBinaryFormat: true,
    ...(timeoutMs > 0 && { defaultTimeoutMs: timeoutMs }),
    interceptors: [
      comeBack(timeoutMs),
      ...interceptors,
      ...(token === undefined ? [] : [bearer(address, token)]),
    ],
  });
  return createClient(transport);
}
