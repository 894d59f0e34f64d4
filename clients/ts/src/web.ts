/**
 * A client for browsers, over Connect-Web.
 *
 * @module
 */
import type { Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { bearer, type BearerToken } from "./bearer.js";
import { createClient, type Client } from "./client.js";
import { retryReads } from "./retryreads.js";

export * from "./index.js";

/** Options of a browser client. */
export interface WebOptions {
  /**
   * The bearer token of each call. It is sent to this address only, and never in plain text to
   * another host. The page's code must not contain a token, because it is public: get the token
   * from the user of the page, or from a sign-in.
   */
  readonly token?: BearerToken | undefined;
  /**
   * The timeout of a call in milliseconds, after which it fails with Code.DeadlineExceeded; 0
   * for no limit. Watches and logs have no timeout. Default: 30,000.
   */
  readonly timeoutMs?: number | undefined;
  /** Interceptors of all calls, for example to add a header. */
  readonly interceptors?: Interceptor[] | undefined;
}

/**
 * Creates a client for the service at an address: `window.location.origin` if the service serves
 * the page.
 */
export function connect(address: string, options: WebOptions = {}): Client {
  const { token, timeoutMs = 30_000, interceptors = [] } = options;
  const transport = createConnectTransport({
    baseUrl: address,
    useBinaryFormat: true,
    ...(timeoutMs > 0 && { defaultTimeoutMs: timeoutMs }),
    interceptors: [
      retryReads(timeoutMs),
      ...interceptors,
      ...(token === undefined ? [] : [bearer(address, token)]),
    ],
  });
  return createClient(transport);
}
