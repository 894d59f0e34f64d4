import { readFile } from "node:fs/promises";
import type { BearerToken } from "./bearer.js";

/** Where a token is: at most one of them. */
export interface TokenOptions {
  readonly token?: BearerToken | undefined;
  readonly tokenFile?: string | undefined;
}

/** Returns the token of a client of Node.js. Throws a TypeError if there are two. */
export function tokenOf({ token, tokenFile }: TokenOptions): BearerToken | undefined {
  if (tokenFile === undefined) return token;
  if (token !== undefined)
    throw new TypeError("token and tokenFile are mutually exclusive: pass one of them");
  return async () => (await readFile(tokenFile, "utf8")).trim();
}
