import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";

/**
 * A bearer token, or a function that returns one. The function is called before each call
 * to the service, and once more when the service does not accept the token.
 */
export type BearerToken = string | (() => string | Promise<string>);

/**
 * Sends a token with each call to an address. A unary call that the service refuses as
 * unauthenticated is made once more where the token's function returns another token by
 * then; a stream is opened again by `follow`. Throws if the token would go to another host
 * in plain text, or is malformed. Errors never repeat it.
 */
export function bearer(address: string, token: BearerToken): Interceptor {
  refusePlainText(new URL(address));
  if (typeof token === "string") refuseMalformed(token);
  const current = async (): Promise<string> => {
    const value = typeof token === "string" ? token : await token();
    refuseMalformed(value);
    return value;
  };
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

function isUnauthenticated(error: unknown): boolean {
  return ConnectError.from(error).code === Code.Unauthenticated;
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
