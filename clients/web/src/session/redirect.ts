/** The path that the issuer redirects to; see the views in embed.go. */
export const callbackPath = "/signin/callback";

/** What the page must remember while the user is at the issuer. */
export interface SignInRequest {
  readonly state: string;
  readonly nonce: string;
  /** The code verifier of PKCE. */
  readonly verifier: string;
  /** The path, with query and fragment, where the user wanted to be. */
  readonly returnTo: string;
}

/** What the issuer has redirected the browser with. */
export interface SignInAnswer {
  readonly parameters: URLSearchParams;
  /** The request of this tab; undefined if there is none. */
  readonly request: SignInRequest | undefined;
}

const key = "kubeconnect.signin";

/** Keeps a request until the next page of this tab starts. */
export function keepRequest(request: SignInRequest): void {
  sessionStorage.setItem(key, JSON.stringify(request));
}

/**
 * Returns the issuer's answer if the address has one, and replaces the address, and with it the
 * entry of the history, by the one where the user was. Forgets the request in any case.
 */
export function takeAnswer(): SignInAnswer | undefined {
  const request = takeRequest();
  if (location.pathname !== callbackPath) return undefined;
  const parameters = new URLSearchParams(location.search);
  history.replaceState(null, "", ownAddress(request?.returnTo ?? "/"));
  return { parameters, request };
}

function takeRequest(): SignInRequest | undefined {
  const text = sessionStorage.getItem(key);
  sessionStorage.removeItem(key);
  return text === null ? undefined : (JSON.parse(text) as SignInRequest);
}

/** Returns the address of a path of this origin; of "/" for everything that is not one. */
function ownAddress(path: string): string {
  const isOwn = path.startsWith("/") && !path.startsWith(callbackPath);
  return location.origin + (isOwn ? path : "/");
}

/** Returns the path of the page, with query and fragment. */
export function currentPath(): string {
  return location.pathname + location.search + location.hash;
}
