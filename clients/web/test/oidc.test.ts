// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { loadIssuer, type Issuer } from "../src/session/issuer.js";
import { beginSignIn, completeSignIn } from "../src/session/oidc.js";
import { keepRequest, takeAnswer, type SignInAnswer } from "../src/session/redirect.js";

const issuer: Issuer = {
  url: "https://issuer.example/realm",
  clientId: "console",
  scopes: ["openid", "groups"],
};

const metadata = {
  issuer: issuer.url,
  authorization_endpoint: "https://login.example/authorize?tenant=one",
  token_endpoint: "https://tokens.example/token",
  end_session_endpoint: "https://issuer.example/realm/logout",
};

const request = {
  state: "the-state",
  nonce: "the-nonce",
  verifier: "v".repeat(43),
  returnTo: "/r",
};

/** An unsigned ID token: the page leaves the signature to the API server. */
function idToken(changes: Record<string, unknown> = {}): string {
  const now = Math.floor(Date.now() / 1000);
  const claims = { iss: issuer.url, aud: "console", sub: "ada", nonce: request.nonce };
  const parts = [{ alg: "RS256" }, { ...claims, iat: now, exp: now + 3600, ...changes }];
  return [...parts.map((part) => encoded(JSON.stringify(part))), encoded("signature")].join(".");
}

function encoded(text: string): string {
  return btoa(text).replaceAll("=", "").replaceAll("+", "-").replaceAll("/", "_");
}

type Responses = Record<string, (body: URLSearchParams) => unknown>;

/** Serves JSON at URLs. A function can throw the body of an error. */
function serve(responses: Responses): void {
  vi.stubGlobal("fetch", (input: string | URL, init?: { body?: URLSearchParams }) => {
    const respond = responses[String(input)];
    if (!respond) return Promise.reject(new TypeError("Failed to fetch"));
    try {
      return Promise.resolve(Response.json(respond(new URLSearchParams(init?.body))));
    } catch (error) {
      return Promise.resolve(Response.json(error, { status: 400 }));
    }
  });
}

/** Serves an issuer with a token endpoint. */
function serveIssuer(token: Responses[string], changes: Partial<typeof metadata> = {}): void {
  serve({
    "https://issuer.example/realm/.well-known/openid-configuration": () => ({
      ...metadata,
      ...changes,
    }),
    [metadata.token_endpoint]: token,
  });
}

function tokens(id = idToken(), more: Record<string, unknown> = {}) {
  return { token_type: "Bearer", access_token: "access", id_token: id, ...more };
}

function answerWith(parameters: Record<string, string>): SignInAnswer {
  return { request, parameters: new URLSearchParams({ state: request.state, ...parameters }) };
}

beforeEach(() => {
  vi.stubGlobal("isSecureContext", true);
  vi.useFakeTimers({ toFake: ["Date"] });
  history.replaceState(null, "", "/r/pods?ns=one#row");
  sessionStorage.clear();
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  vi.useRealTimers();
});

test("the service names the issuer, or none", async () => {
  serve({ "/console.json": () => ({ issuer }) });
  expect(await loadIssuer()).toEqual(issuer);
  serve({ "/console.json": () => ({}) });
  expect(await loadIssuer()).toBeUndefined();
});

test("a sign-in begins with a redirect whose secrets stay in the tab", async () => {
  serveIssuer(() => tokens());
  const assign = vi.spyOn(location, "assign").mockImplementation(() => undefined);
  await beginSignIn(issuer);
  const address = new URL(String(assign.mock.calls[0]?.[0]));
  expect(address.origin + address.pathname).toBe("https://login.example/authorize");
  const sent = Object.fromEntries(address.searchParams);
  expect(sent).toMatchObject({
    tenant: "one",
    client_id: "console",
    response_type: "code",
    scope: "openid groups",
    redirect_uri: `${location.origin}/signin/callback`,
    code_challenge_method: "S256",
  });

  history.replaceState(null, "", `/signin/callback?code=c&state=${sent.state}`);
  const kept = takeAnswer()?.request;
  expect(kept).toMatchObject({ state: sent.state, nonce: sent.nonce });
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(kept?.verifier));
  expect(sent.code_challenge).toBe(encoded(String.fromCharCode(...new Uint8Array(digest))));
  expect(address.href).not.toContain(kept?.verifier);
});

test("an answer is taken from the address, and its request from the storage", () => {
  keepRequest({ ...request, returnTo: "/r/pods?ns=one#row" });
  history.replaceState(null, "", "/signin/callback?code=c&state=s");
  const answer = takeAnswer();
  expect(answer?.parameters.get("code")).toBe("c");
  expect(location.href).toBe(`${location.origin}/r/pods?ns=one#row`);
  expect(sessionStorage.length).toBe(0);
});

test("a page that is no answer forgets the request, and keeps its address", () => {
  keepRequest(request);
  expect(takeAnswer()).toBeUndefined();
  expect(location.pathname).toBe("/r/pods");
  expect(sessionStorage.length).toBe(0);
});

test.each(["https://evil.example/", ".evil.example/", "", "/signin/callback?code=x"])(
  "an answer never leads to %j",
  (returnTo) => {
    keepRequest({ ...request, returnTo });
    history.replaceState(null, "", "/signin/callback?code=c&state=s");
    takeAnswer();
    expect(location.href).toBe(`${location.origin}/`);
  },
);

test("a code is exchanged for a token, with the verifier", async () => {
  const token = idToken();
  const requests: URLSearchParams[] = [];
  serveIssuer((body) => {
    requests.push(body);
    return tokens(token);
  });
  const grant = await completeSignIn(issuer, answerWith({ code: "the-code" }));
  expect(grant.token).toBe(token);
  expect(grant.renewal).toBeUndefined();
  expect(grant.signOut).toEqual({
    host: "issuer.example",
    address: "https://issuer.example/realm/logout?client_id=console",
  });
  expect(Object.fromEntries(requests[0] ?? [])).toMatchObject({
    grant_type: "authorization_code",
    code: "the-code",
    code_verifier: request.verifier,
    client_id: "console",
    redirect_uri: `${location.origin}/signin/callback`,
  });
});

test("tokens are renewed a minute before they expire, with the latest refresh token", async () => {
  const requests: (string | null)[] = [];
  serveIssuer((body) => {
    requests.push(body.get("refresh_token"));
    return tokens(idToken({ nonce: body.has("code") ? request.nonce : undefined }), {
      refresh_token: `refresh-${requests.length}`,
    });
  });
  const first = await completeSignIn(issuer, answerWith({ code: "c" }));
  expect((first.renewal?.at ?? 0) - Date.now()).toBe(3_540_000);
  const second = await first.renewal?.next();
  await second?.renewal?.next();
  expect(requests).toEqual([null, "refresh-1", "refresh-2"]);
});

test("a renewal for another user is refused", async () => {
  serveIssuer((body) => {
    const claims = body.has("code") ? {} : { sub: "eve", nonce: undefined };
    return tokens(idToken(claims), { refresh_token: "r" });
  });
  const { renewal } = await completeSignIn(issuer, answerWith({ code: "c" }));
  await expect(renewal?.next()).rejects.toThrow("no ID token of this user");
});

test.each<[string, SignInAnswer, string]>([
  [
    "a sign-in of another tab",
    { request: undefined, parameters: new URLSearchParams({ code: "c", state: "s" }) },
    "not started in this tab",
  ],
  ["another state", answerWith({ code: "c", state: "other" }), "not started in this tab"],
  [
    "an error of the issuer",
    answerWith({ error: "access_denied", error_description: "the user <b>cancelled</b>" }),
    "issuer.example refused the sign-in: the user <b>cancelled</b>",
  ],
  [
    "an error without words",
    answerWith({ error: "access_denied" }),
    "refused the sign-in: access_",
  ],
  [
    "an answer of another issuer",
    answerWith({ code: "c", iss: "https://evil.example" }),
    "has failed",
  ],
])("%s is refused before a token is requested", async (_name, answer, words) => {
  const token = vi.fn(() => tokens());
  serveIssuer(token);
  await expect(completeSignIn(issuer, answer)).rejects.toThrow(words);
  expect(token).not.toHaveBeenCalled();
});

test.each<[string, Responses[string], Partial<typeof metadata>, string]>([
  ["another nonce", () => tokens(idToken({ nonce: "other" })), {}, "nonce"],
  ["a token for another client", () => tokens(idToken({ aud: "other" })), {}, "aud"],
  ["a token of another issuer", () => tokens(idToken({ iss: "https://evil.example" })), {}, "iss"],
  ["no ID token", () => ({ token_type: "Bearer", access_token: "a" }), {}, "id_token"],
  ["the metadata of another issuer", () => tokens(), { issuer: "https://evil.example" }, "issuer"],
  [
    "a token endpoint in plain text",
    () => tokens(),
    { token_endpoint: "http://tokens.example/token" },
    "has failed",
  ],
  [
    "a token endpoint that cannot be reached",
    () => tokens(),
    { token_endpoint: "https://down.example/token" },
    "issuer.example cannot be reached",
  ],
  [
    "a code that was used",
    () => {
      // eslint-disable-next-line @typescript-eslint/only-throw-error -- the body of the response
      throw { error: "invalid_grant", error_description: "the code was used" };
    },
    {},
    "issuer.example refused the sign-in: the code was used",
  ],
])("%s is an error in words", async (_name, token, changes, words) => {
  serveIssuer(token, changes);
  await expect(completeSignIn(issuer, answerWith({ code: "c" }))).rejects.toThrow(words);
});

test("an issuer that cannot be reached, and a page without TLS, are errors in words", async () => {
  serve({});
  await expect(beginSignIn(issuer)).rejects.toThrow("issuer.example cannot be reached");
  vi.stubGlobal("isSecureContext", false);
  await expect(beginSignIn(issuer)).rejects.toThrow("https://");
  expect(sessionStorage.length).toBe(0);
});
