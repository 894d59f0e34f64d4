import { Code, createClient } from "@kubeconnect/client";
import { ConnectError, createRouterTransport } from "@connectrpc/connect";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { AccessService } from "../../ts/src/gen/kubeconnect/v1/access_service_pb.js";
import { ResourceService } from "../../ts/src/gen/kubeconnect/v1/resource_service_pb.js";
import { Credentials, waitForSignIn } from "../src/app/credentials.js";
import { HiddenTab, pauseWhileHidden } from "../src/app/hiddentab.js";

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
  const credentials = new Credentials("old");
  const changed = vi.fn();
  credentials.subscribe(changed);
  const identity = clientWith(credentials).whoAmI();
  await vi.waitFor(() => {
    expect(credentials.isExpired()).toBe(true);
  });
  credentials.renew("new");
  expect((await identity).username).toBe("ann");
  expect(credentials.isExpired()).toBe(false);
  expect(changed).toHaveBeenCalledTimes(2);
});

test("a stream with an expired token waits for the next token", async () => {
  const credentials = new Credentials("old");
  const counts = clientWith(credentials).watchCounts("pods");
  const unsubscribe = counts.subscribe(() => undefined);
  await vi.waitFor(() => {
    expect(credentials.isExpired()).toBe(true);
  });
  expect(counts.error).toBeUndefined();
  credentials.renew("new");
  await vi.waitFor(() => {
    expect(counts.snapshot?.total).toBe(3);
  });
  unsubscribe();
});

test("a call that waits for a token can be cancelled", async () => {
  const credentials = new Credentials("old");
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
  const credentials = new Credentials("old");
  credentials.renew("new");
  credentials.rejected("old");
  expect(credentials.isExpired()).toBe(false);
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
