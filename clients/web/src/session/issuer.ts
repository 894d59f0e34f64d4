/** An OpenID issuer that users can sign in with. */
export interface Issuer {
  readonly url: string;
  /** Identifies the console at the issuer. */
  readonly clientId: string;
  readonly scopes: readonly string[];
}

/** Returns the issuer that the service is configured with, or undefined. */
export async function loadIssuer(): Promise<Issuer | undefined> {
  const response = await fetch("/console.json");
  if (!response.ok) throw new Error(`the service responded with ${response.status}`);
  const { issuer } = (await response.json()) as { readonly issuer?: Issuer };
  return issuer;
}

/** Returns the name that users know the issuer by. */
export function hostOf(issuer: Issuer): string {
  return new URL(issuer.url).host;
}
