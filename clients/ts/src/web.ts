/**
 * A client for browsers, over fetch.
 *
 * @module
 */
import type { Interceptor } from "@connectrpc/connect";
import { parseAddress } from "./address.js";
import { bearer, isRenewable, type BearerToken } from "./bearer.js";
import { createClient, type Client } from "./client.js";
import { createFetchTransport } from "./fetchtransport.js";
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
 * the page. The address is a URL, or a host and port: without a scheme, a loopback address uses
 * http and any other https. It may have a path, as behind a proxy. Throws a TypeError for another
 * address.
 */
export function connect(address: string, options: WebOptions = {}): Client {
  const { token, timeoutMs = 30_000, interceptors = [] } = options;
  const baseUrl = parseAddress(address);
  const transport = createFetchTransport({
    baseUrl,
    defaultTimeoutMs: timeoutMs,
    interceptors: [
      retryReads(timeoutMs),
      ...interceptors,
      ...(token === undefined ? [] : [bearer(baseUrl, token)]),
    ],
  });
  return createClient(transport, { renewsCredentials: isRenewable(token) });
}
