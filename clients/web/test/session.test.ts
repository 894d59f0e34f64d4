// @vitest-environment happy-dom
import { Code, createClient } from "@kubeconnect/client";
import { ConnectError, createRouterTransport } from "@connectrpc/connect";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { AccessService } from "../../ts/src/gen/kubeconnect/v1/access_service_pb.js";
import { ResourceService } from "../../ts/src/gen/kubeconnect/v1/resource_service_pb.js";
import { Credentials, waitForSignIn, type Grant } from "../src/session/credentials.js";
import { HiddenTab, pauseWhileHidden } from "../src/session/hiddentab.js";

/** A client of a service that accepts the token "new" only. */
function clientWith(credentials: Credentials) {
  const check = () => {
    if (credentials.token() !== "new") throw new ConnectError("expired", Code.Unauthenticated);
  };
  const transport = createRouterTransport(
    ({ service }) => {
      service(AccessService, {
        whoAmI: () => {
          check();
          return { username: "ann" };
        },
      });
      service(ResourceService, {
        // eslint-disable-next-line @typescript-eslint/require-await -- a stream
        watchMany: async function* () {
          check();
          yield { counts: { resource: { plural: "pods" }, totalCount: 3n, reset: true } };
        },
      });
    },
    { transport: { interceptors: [waitForSignIn(credentials)] } },
  );
  return createClient(transport);
}

test("a call with an expired token waits for the next token", async () => {
  const credentials = new Credentials({ token: "old" });
  const changed = vi.fn();
  credentials.subscribe(changed);
  const identity = clientWith(credentials).whoAmI();
  await vi.waitFor(() => {
    expect(credentials.isExpired()).toBe(true);
  });
  credentials.renew({ token: "new" });
  expect((await identity).username).toBe("ann");
  expect(credentials.isExpired()).toBe(false);
  expect(changed).toHaveBeenCalledTimes(2);
});

test("a stream with an expired token waits for the next token", async () => {
  const credentials = new Credentials({ token: "old" });
  const counts = clientWith(credentials).watchCounts("pods");
  const unsubscribe = counts.subscribe(() => undefined);
  await vi.waitFor(() => {
    expect(credentials.isExpired()).toBe(true);
  });
  expect(counts.error).toBeUndefined();
  credentials.renew({ token: "new" });
  await vi.waitFor(() => {
    expect(counts.snapshot?.total).toBe(3);
  });
  unsubscribe();
});

test("a call that waits for a token can be cancelled", async () => {
  const credentials = new Credentials({ token: "old" });
  const leaving = new AbortController();
  const identity = clientWith(credentials).whoAmI({ signal: leaving.signal });
  const rejected = expect(identity).rejects.toThrow("left");
  await vi.waitFor(() => {
    expect(credentials.isExpired()).toBe(true);
  });
  leaving.abort(new Error("left"));
  await rejected;
});

test("the rejection of an earlier token does not matter", () => {
  const credentials = new Credentials({ token: "old" });
  credentials.renew({ token: "new" });
  credentials.rejected("old");
  expect(credentials.isExpired()).toBe(false);
});

/** Credentials whose token is renewed in a minute, with the requests for the next one. */
function renewedCredentials(next: () => Promise<Grant>) {
  const renew = vi.fn(next);
  return { renew, credentials: new Credentials(renewable("old", renew)) };
}

function renewable(token: string, next: () => Promise<Grant>): Grant {
  return { token, renewal: { at: Date.now() + 60_000, next } };
}

test("a token is renewed before it expires, and so is the next one", async () => {
  const { credentials, renew } = renewedCredentials(() =>
    Promise.resolve(renewable("next", () => Promise.resolve({ token: "last" }))),
  );
  const stop = credentials.keepRenewed();
  await vi.advanceTimersByTimeAsync(59_000);
  expect(renew).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(credentials.token()).toBe("next");
  await vi.advanceTimersByTimeAsync(60_000);
  expect(credentials.token()).toBe("last");
  stop();
});

test("a renewal that fails is tried again, until the session ends", async () => {
  const { credentials, renew } = renewedCredentials(() => Promise.reject(new Error("down")));
  const stop = credentials.keepRenewed();
  await vi.advanceTimersByTimeAsync(80_000);
  expect(renew).toHaveBeenCalledTimes(3);
  expect(credentials.isExpired()).toBe(false);
  stop();
  await vi.advanceTimersByTimeAsync(80_000);
  expect(renew).toHaveBeenCalledTimes(3);
});

test("calls with a rejected token continue with the next one, without the user", async () => {
  const { credentials, renew } = renewedCredentials(() => Promise.resolve({ token: "new" }));
  const changed = vi.fn();
  credentials.subscribe(changed);
  const client = clientWith(credentials);
  const identities = await Promise.all([client.whoAmI(), client.whoAmI()]);
  expect(identities.map(({ username }) => username)).toEqual(["ann", "ann"]);
  expect(renew).toHaveBeenCalledTimes(1);
  expect(changed).not.toHaveBeenCalled();
});

test("a rejected token that cannot be renewed has expired", async () => {
  const { credentials } = renewedCredentials(() => Promise.reject(new Error("refused")));
  credentials.rejected("old");
  expect(credentials.isExpired()).toBe(false);
  await vi.waitFor(() => {
    expect(credentials.isExpired()).toBe(true);
  });
});

test("a next token that is rejected too is not renewed again", async () => {
  const next = () => Promise.resolve(renewable("rejected", next));
  const { credentials, renew } = renewedCredentials(next);
  const identity = clientWith(credentials).whoAmI();
  await vi.waitFor(() => {
    expect(credentials.isExpired()).toBe(true);
  });
  expect(renew).toHaveBeenCalledTimes(1);
  credentials.renew({ token: "new" });
  expect((await identity).username).toBe("ann");
});

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"], shouldAdvanceTime: true });
});
afterEach(() => {
  vi.useRealTimers();
});

function show(isShown: boolean): void {
  Object.defineProperty(document, "hidden", { configurable: true, value: !isShown });
  document.dispatchEvent(new Event("visibilitychange"));
}

test("a tab that is hidden for a minute is paused until it is shown", () => {
  const tab = new HiddenTab();
  const unfollow = tab.follow(document);
  show(false);
  vi.advanceTimersByTime(59_000);
  expect(tab.isPaused()).toBe(false);
  show(true);
  vi.advanceTimersByTime(60_000);
  expect(tab.isPaused()).toBe(false);
  show(false);
  vi.advanceTimersByTime(60_000);
  expect(tab.isPaused()).toBe(true);
  show(true);
  expect(tab.isPaused()).toBe(false);
  unfollow();
});

test("the stream of live data closes with the pause, and continues after it", async () => {
  const tab = new HiddenTab();
  const unfollow = tab.follow(document);
  let open = 0;
  let opened = 0;
  const transport = createRouterTransport(
    ({ service }) => {
      service(ResourceService, {
        watchMany: async function* (_request, { signal }) {
          open++;
          opened++;
          yield { counts: { resource: { plural: "pods" }, totalCount: 3n, reset: true } };
          await new Promise((resolve) => {
            signal.addEventListener("abort", resolve);
          });
          open--;
        },
      });
    },
    { transport: { interceptors: [pauseWhileHidden(tab)] } },
  );
  const counts = createClient(transport).watchCounts("pods");
  const unsubscribe = counts.subscribe(() => undefined);
  await vi.waitFor(() => {
    expect(counts.connection.state).toBe("connected");
  });
  show(false);
  await vi.advanceTimersByTimeAsync(60_000);
  await vi.waitFor(() => {
    expect(open).toBe(0);
  });
  expect(counts.error).toBeUndefined();
  const before = opened; // the service is silent, so the client has opened the stream again
  show(true);
  await vi.waitFor(() => {
    expect(opened).toBe(before + 1);
    expect(counts.connection.state).toBe("connected");
  });
  unsubscribe();
  unfollow();
});
