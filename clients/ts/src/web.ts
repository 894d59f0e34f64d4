/**
 * A client for browsers, over Connect-Web.
 *
 * @module
 */
import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import { parseAddress } from "./address.js";
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
 * the page. The address is a URL, or a host and port: without a scheme, a loopback address uses
 * http and any other https. It may have a path, as behind a proxy. Throws a TypeError for another
 * address.
 */
export function connect(address: string, options: WebOptions = {}): Client {
  const { token, timeoutMs = 30_000, interceptors = [] } = options;
  const baseUrl = parseAddress(address);
  const transport = createConnectTransport({
    baseUrl,
    useBinaryFormat: true,
    fetch: fetchOrUnavailable,
    ...(timeoutMs > 0 && { defaultTimeoutMs: timeoutMs }),
    interceptors: [
      retryReads(timeoutMs),
      ...interceptors,
      ...(token === undefined ? [] : [bearer(baseUrl, token)]),
    ],
  });
  return createClient(transport);
}

/**
 * fetch, with an error of the connection as Code.Unavailable: fetch itself throws a TypeError, whose
 * message differs between browsers.
 */
async function fetchOrUnavailable(
  ...[input, init]: Parameters<typeof fetch>
): Promise<Awaited<ReturnType<typeof fetch>>> {
  try {
    return await fetch(input, init);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    const message = `the service cannot be reached: ${error.message}`;
    throw new ConnectError(message, Code.Unavailable, undefined, undefined, error);
  }
}
