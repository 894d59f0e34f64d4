import { loadConfig, type Issuer } from "./config.js";

export type { Issuer } from "./config.js";

/** Returns the issuer that the service is configured with, or undefined. */
export async function loadIssuer(): Promise<Issuer | undefined> {
  return (await loadConfig()).issuer;
}

/** Returns the name that users know the issuer by. */
export function hostOf(issuer: Issuer): string {
  return new URL(issuer.url).host;
}
