/** An OpenID issuer that users can sign in with. */
export interface Issuer {
  readonly url: string;
  /** Identifies the console at the issuer. */
  readonly clientId: string;
  readonly scopes: readonly string[];
}

/** The configuration of the page. */
export interface Config {
  /** The issuer that the service is configured with; undefined if there is none. */
  readonly issuer?: Issuer;
  /** Whether the service passes on connections into containers. */
  readonly terminal?: boolean;
}

/** Reads the configuration from the service. */
export async function loadConfig(signal?: AbortSignal): Promise<Config> {
  const response = await fetch("/console.json", signal && { signal });
  if (!response.ok) throw new Error(`the service responded with ${response.status}`);
  return (await response.json()) as Config;
}
