import type { Interceptor } from "@connectrpc/connect";

/** A bearer token, or a function that is asked for one before each call. */
export type BearerToken = string | (() => string | Promise<string>);

/**
 * Sends a token with each call to an address. Throws if it would go to another
 * host in plain text, or is none. Errors never repeat it.
 */
export function bearer(address: string, token: BearerToken): Interceptor {
  refusePlainText(new URL(address));
  if (typeof token === "string") refuseMalformed(token);
  return (next) => async (request) => {
    const value = typeof token === "string" ? token : await token();
    refuseMalformed(value);
    request.header.set("Authorization", `Bearer ${value}`);
    return next(request);
  };
}

function refusePlainText({ protocol, hostname }: URL): void {
  const loopback = /^(localhost|\[::1\]|127\.\d+\.\d+\.\d+)$/.test(hostname);
  if (protocol !== "https:" && !loopback) {
    throw new Error("a token is not sent over plain text to another host: use https://");
  }
}

function refuseMalformed(token: string): void {
  if (!/^[!-~]+$/.test(token)) {
    throw new Error("the token is empty, or has spaces or other characters that none has");
  }
}
