import * as oauth from "oauth4webapi";
import type { Grant } from "./credentials.js";
import { hostOf, type Issuer } from "./issuer.js";
import {
  callbackPath,
  currentPath,
  keepRequest,
  type SignInAnswer,
  type SignInRequest,
} from "./redirect.js";

// The authorization code flow with PKCE (RFC 7636) of OpenID Connect, as a public client. The
// signature of ID tokens is not verified here: the page gets them from the issuer over TLS (OpenID
// Connect Core, 3.1.3.7), and the API server verifies them.

/** The issuer's metadata, and what every request to it needs. */
interface Session {
  readonly issuer: Issuer;
  readonly server: oauth.AuthorizationServer;
  readonly client: oauth.Client;
}

/** Redirects the browser to the issuer, which redirects it to callbackPath. */
export async function beginSignIn(issuer: Issuer): Promise<void> {
  return explained(issuer, async () => {
    if (!window.isSecureContext) {
      throw new Error("the console must be opened with https://, or on a loopback address");
    }
    const session = await openSession(issuer);
    const request = {
      state: oauth.generateRandomState(),
      nonce: oauth.generateRandomNonce(),
      verifier: oauth.generateRandomCodeVerifier(),
      returnTo: currentPath(),
    };
    const address = await authorizationOf(session, request);
    keepRequest(request);
    location.assign(address);
  });
}

/** Returns the address where the user authorizes a request. */
async function authorizationOf(session: Session, request: SignInRequest): Promise<URL> {
  const address = endpointOf(session, "authorization_endpoint");
  if (!address) throw new Error("it has no authorization endpoint");
  const parameters = {
    client_id: session.issuer.clientId,
    response_type: "code",
    redirect_uri: redirectURI(),
    scope: session.issuer.scopes.join(" "),
    state: request.state,
    nonce: request.nonce,
    code_challenge: await oauth.calculatePKCECodeChallenge(request.verifier),
    code_challenge_method: "S256",
  };
  for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value);
  return address;
}

/** Exchanges the code of an answer for tokens. An answer can be used once. */
export async function completeSignIn(issuer: Issuer, answer: SignInAnswer): Promise<Grant> {
  const { request, parameters } = answer;
  if (request?.state === undefined || parameters.get("state") !== request.state) {
    throw new Error("This sign-in was not started in this tab, or it has ended already.");
  }
  return explained(issuer, async () => {
    const session = await openSession(issuer);
    const { server, client } = session;
    const code = oauth.validateAuthResponse(server, client, parameters, request.state);
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      oauth.None(),
      code,
      redirectURI(),
      request.verifier,
      requestOptions(issuer),
    );
    const tokens = await oauth.processAuthorizationCodeResponse(server, client, response, {
      expectedNonce: request.nonce,
      requireIdToken: true,
    });
    return grantOf(session, tokens);
  });
}

/** Requests the next tokens. The user must remain the same. */
async function renewTokens(session: Session, refreshToken: string, user: string): Promise<Grant> {
  const { issuer, server, client } = session;
  const response = await oauth.refreshTokenGrantRequest(
    server,
    client,
    oauth.None(),
    refreshToken,
    requestOptions(issuer),
  );
  const tokens = await oauth.processRefreshTokenResponse(server, client, response);
  if (oauth.getValidatedIdTokenClaims(tokens)?.sub !== user) {
    throw new Error("the issuer has returned no ID token of this user");
  }
  return grantOf(session, tokens, refreshToken);
}

/** How long before its expiry an ID token is renewed at most, in milliseconds. */
const renewalMargin = 60_000;

/** Returns the grant of tokens that have just been issued, some without a new refresh token. */
function grantOf(
  session: Session,
  tokens: oauth.TokenEndpointResponse,
  previousRefreshToken?: string,
): Grant {
  const claims = oauth.getValidatedIdTokenClaims(tokens);
  if (!claims || tokens.id_token === undefined) throw new Error("it has returned no ID token");
  const lifetime = (claims.exp - claims.iat) * 1000; // independent of the clock of the browser
  const refreshToken = tokens.refresh_token ?? previousRefreshToken;
  const renewal = refreshToken !== undefined && {
    at: Date.now() + Math.max(lifetime - renewalMargin, (lifetime * 3) / 4),
    next: () => renewTokens(session, refreshToken, claims.sub),
  };
  return { token: tokens.id_token, signOut: signOutOf(session), ...(renewal && { renewal }) };
}

/** Returns where the user can sign out of the issuer. The address does not contain the token. */
function signOutOf(session: Session): Grant["signOut"] {
  const address = endpointOf(session, "end_session_endpoint");
  if (!address) return undefined;
  address.searchParams.set("client_id", session.issuer.clientId);
  return { host: hostOf(session.issuer), address: address.href };
}

async function openSession(issuer: Issuer): Promise<Session> {
  const url = new URL(issuer.url);
  const response = await oauth.discoveryRequest(url, requestOptions(issuer));
  const server = await oauth.processDiscoveryResponse(url, response);
  return { issuer, server, client: { client_id: issuer.clientId } };
}

/** Returns the address of an endpoint that the browser navigates to. */
function endpointOf(
  { issuer, server }: Session,
  name: "authorization_endpoint" | "end_session_endpoint",
): URL | undefined {
  const text = server[name];
  if (text === undefined) return undefined;
  const address = new URL(text);
  oauth.checkProtocol(address, !isInsecure(issuer));
  return address;
}

/** Returns whether the issuer is in plain text, which the service accepts for loopback addresses. */
function isInsecure(issuer: Issuer): boolean {
  return new URL(issuer.url).protocol === "http:";
}

/** Returns the options of a request: plain text is allowed to an issuer that is in plain text. */
function requestOptions(issuer: Issuer) {
  // eslint-disable-next-line @typescript-eslint/no-deprecated -- marked so that it is not overlooked
  return { [oauth.allowInsecureRequests]: isInsecure(issuer) };
}

function redirectURI(): string {
  return location.origin + callbackPath;
}

/** Calls a function, and throws its error in words for the user. */
async function explained<T>(issuer: Issuer, call: () => Promise<T>): Promise<T> {
  try {
    return await call();
  } catch (error) {
    throw new Error(wordsOf(hostOf(issuer), error), { cause: error });
  }
}

function wordsOf(host: string, error: unknown): string {
  if (
    error instanceof oauth.AuthorizationResponseError ||
    error instanceof oauth.ResponseBodyError
  ) {
    return `${host} refused the sign-in: ${error.error_description ?? error.error}`;
  }
  if (error instanceof TypeError && !("code" in error)) {
    return `${host} cannot be reached, or requests of this page to it are not allowed.`;
  }
  return `The sign-in with ${host} has failed: ${error instanceof Error ? error.message : String(error)}`;
}
