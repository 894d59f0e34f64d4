import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect";
import { createClient, type Client } from "@kubeconnect/client";
import { AccessService, EventType, ResourceService } from "@kubeconnect/client/proto";
import type { Connection } from "../src/connection.js";
import { PodFeed } from "../src/feed.js";
import { Session } from "../src/session.js";
import { message, podResource } from "./fixture.js";

const { signal } = new AbortController();

/** A service with the tokens "ann" and "ann2" of Ann, and "bob" of Bob, who has no permissions. */
class Service {
  /** The watches, as "token from resume token". */
  readonly watches: string[] = [];
  readonly #expired = new AbortController();

  /** Ends the streams of Ann's first token. */
  expire(): void {
    this.#expired.abort();
  }

  readonly connect = (token = ""): Client =>
    createClient(
      createRouterTransport(({ service }) => {
        service(AccessService, { whoAmI: () => ({ username: this.#userOf(token) }) });
        service(ResourceService, {
          watch: ({ resumeToken }, { signal }) => this.#watch(token, resumeToken, signal),
        });
      }),
    );

  #userOf(token: string): string {
    if (token === "bob") return "bob";
    if (token === "ann2" || (token === "ann" && !this.#expired.signal.aborted)) return "ann";
    throw new ConnectError(token ? "not accepted" : "no token", Code.Unauthenticated);
  }

  async *#watch(token: string, resumeToken: string, signal: AbortSignal) {
    this.watches.push(`${token} from ${resumeToken}`);
    if (this.#userOf(token) === "bob") {
      throw new ConnectError("bob is not allowed to list pods", Code.PermissionDenied);
    }
    const added = { type: EventType.ADDED, object: message("shop", token) };
    const around = resumeToken ? [] : [{ type: EventType.RESET }, { type: EventType.SYNCED }];
    yield { resource: podResource, events: [...around, added], resumeToken: `${token}-1` };
    const ends = token === "ann" ? AbortSignal.any([signal, this.#expired.signal]) : signal;
    await new Promise((resolve) => {
      ends.addEventListener("abort", resolve);
    });
    this.#userOf(token);
  }
}

/** Creates a feed for the session, and a function that waits for a connection state. */
function feedFor(session: Session): {
  feed: PodFeed;
  until: (state: Connection["state"]) => Promise<Connection>;
} {
  let current: Connection = { state: "connecting" };
  let check = (): void => undefined;
  const observer = {
    connection: (connection: Connection) => {
      current = connection;
      check();
    },
    changed: () => undefined,
    arriving: () => undefined,
  };
  const feed = new PodFeed(session, observer, () => new Promise(() => undefined));
  const until = (state: Connection["state"]): Promise<Connection> =>
    new Promise((resolve) => {
      check = () => {
        if (current.state === state) resolve(current);
      };
      check();
    });
  return { feed, until };
}

suite("a session", () => {
  test("has the user that has signed in", async () => {
    const session = new Session(new Service().connect);
    assert.equal(session.username, "");
    await session.signIn("ann", {});
    assert.equal(session.username, "ann");
    session.signOut();
    assert.equal(session.username, "");
    await assert.rejects(session.client.whoAmI(), { message: "no token" });
  });

  test("does not change when a token is rejected", async () => {
    const session = new Session(new Service().connect);
    await session.signIn("ann", {});
    const { client } = session;
    await assert.rejects(session.signIn("wrong", {}), { message: "not accepted" });
    assert.equal(session.username, "ann");
    assert.equal(session.client, client);
  });

  test("resolves when the client is replaced, also if it was replaced before", async () => {
    const session = new Session(new Service().connect);
    const { client } = session;
    const renewed = session.renewed(client, signal);
    await session.signIn("ann", {});
    await renewed;
    await session.renewed(client, signal);
  });

  test("stops waiting when the signal aborts", async () => {
    const session = new Session(new Service().connect);
    const stop = new AbortController();
    const renewed = session.renewed(session.client, stop.signal);
    stop.abort(new Error("enough"));
    await assert.rejects(renewed, { message: "enough" });
  });
});

suite("the feed of a session", () => {
  test("waits until a user signs in", async (t) => {
    const session = new Session(new Service().connect);
    const { feed, until } = feedFor(session);
    t.after(() => {
      feed.close();
    });
    const selected = feed.select("");
    assert.deepEqual(await until("unauthenticated"), {
      state: "unauthenticated",
      reason: "no token",
    });
    await session.signIn("ann", {});
    await selected;
    assert.deepEqual([...feed.pods.keys()], ["shop/ann"]);
  });

  test("keeps its pods when the token expires, and resumes with the next one", async (t) => {
    const service = new Service();
    const session = new Session(service.connect);
    const { feed, until } = feedFor(session);
    t.after(() => {
      feed.close();
    });
    await session.signIn("ann", {});
    await feed.select("");
    service.expire();
    await until("unauthenticated");
    assert.deepEqual([...feed.pods.keys()], ["shop/ann"]);
    await session.signIn("ann2", {});
    await until("live");
    assert.deepEqual([...feed.pods.keys()], ["shop/ann", "shop/ann2"]);
    assert.deepEqual(service.watches, ["ann from ", "ann2 from ann-1"]);
  });

  test("reports missing permissions", async (t) => {
    const session = new Session(new Service().connect);
    const { feed, until } = feedFor(session);
    t.after(() => {
      feed.close();
    });
    await session.signIn("bob", {});
    void feed.select("");
    const reason = "bob is not allowed to list pods";
    assert.deepEqual(await until("forbidden"), { state: "forbidden", reason });
  });

  test("clears its pods", async () => {
    const service = new Service();
    const session = new Session(service.connect);
    const { feed, until } = feedFor(session);
    await session.signIn("ann", {});
    await feed.select("");
    feed.clear();
    await until("connecting");
    assert.equal(feed.synced, false);
    assert.equal(feed.pods.size, 0);
  });
});
