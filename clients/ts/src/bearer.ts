import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { isLoopback } from "./address.js";

/**
 * A bearer token, or a function that returns one. The function is called before each call
 * to the service, and once more when the service rejects the token.
 */
export type BearerToken = string | (() => string | Promise<string>);

/**
 * Creates an interceptor that sends a token with each call to an address. A unary call that the
 * service rejects as unauthenticated is retried once if the token's function returns a different
 * token by then. Streams are opened again by RetryPolicy. Throws if the token would be sent to
 * another host in plain text, or is malformed. Errors never contain the token.
 */
export function bearer(address: string, token: BearerToken): Interceptor {
  const current = tokenSource(address, token);
  return (next) => async (request) => {
    const value = await current();
    request.header.set("Authorization", `Bearer ${value}`);
    try {
      return await next(request);
    } catch (error) {
      if (request.stream || !isUnauthenticated(error)) throw error;
      const fresh = await current();
      if (fresh === value) throw error;
      request.header.set("Authorization", `Bearer ${fresh}`);
      return next(request);
    }
  };
}

/**
 * Returns a function that returns the token to send to an address, and rejects if there is none. Throws
 * as `bearer` does.
 */
export function tokenSource(address: string, token: BearerToken): () => Promise<string> {
  rejectPlainText(new URL(address));
  if (typeof token === "string") rejectMalformed(token);
  return async () => {
    if (typeof token === "string") return token;
    try {
      const value = await token();
      rejectMalformed(value);
      return value;
    } catch (error) {
      const message = `cannot get a token: ${error instanceof Error ? error.message : String(error)}`;
      throw new ConnectError(message, Code.Unauthenticated, undefined, undefined, error);
    }
  };
}

/** Returns whether a token can be renewed. */
export function isRenewable(token: BearerToken | undefined): boolean {
  return typeof token === "function";
}

function isUnauthenticated(error: unknown): boolean {
  return ConnectError.from(error).code === Code.Unauthenticated;
}

function rejectPlainText({ protocol, hostname }: URL): void {
  if (protocol !== "https:" && !isLoopback(hostname)) {
    throw new Error("tokens are not sent over plain text to another host: use https://");
  }
}

function rejectMalformed(token: string): void {
  if (!/^[!-~]+$/.test(token)) {
    throw new Error("token is empty, or has spaces or other invalid characters");
  }
}
