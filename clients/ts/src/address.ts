/**
 * Returns an address of the service as a URL without a trailing slash. Without a scheme, loopback
 * addresses use http and all others https. A path is a prefix of all requests, for a proxy that
 * removes it. Throws a TypeError for anything else. The error does not contain the address, because
 * it may contain a password.
 */
export function parseAddress(address: string): string {
  const url = parse(address);
  if (!url || !schemes.has(url.protocol) || hasMore(url)) {
    throw new TypeError(
      'invalid address: use "http://host:port", "https://host:port" or "host:port", ' +
        "with a path if there is one, without user and query",
    );
  }
  return url.origin + url.pathname.replace(/\/+$/, "");
}

/** Returns whether traffic to a host of a URL remains on this host. */
export function isLoopback(hostname: string): boolean {
  return /^(localhost|\[::1\]|127\.\d+\.\d+\.\d+)$/.test(hostname);
}

const schemes: ReadonlySet<string> = new Set(["http:", "https:"]);

/** An empty text, a path, and a scheme without a host: URL would find a host in some of them. */
const notAnAddress = /^\s*(https?:(?!\/\/)|[/?#]|$)/i;

function parse(address: unknown): URL | undefined {
  if (typeof address !== "string" || notAnAddress.test(address)) return undefined;
  try {
    if (address.includes("://")) return new URL(address);
    const { hostname } = new URL(`https://${address}`);
    return new URL(`${isLoopback(hostname) ? "http" : "https"}://${address}`);
  } catch {
    return undefined;
  }
}

function hasMore({ username, password, search, hash }: URL): boolean {
  return `${username}${password}${search}${hash}` !== "";
}
