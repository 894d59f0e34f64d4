import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect";
import { createClient, type Client } from "@kubeconnect/client";
import { EventType, ResourceService, type WatchResponseSchema } from "@kubeconnect/client/proto";
import type { Connection } from "../src/connection.js";
import { PodFeed, type Caller } from "../src/feed.js";
import { podFields } from "../src/pod.js";
import { message, podResource } from "./fixture.js";

type Batch = MessageInitShape<typeof WatchResponseSchema>;

function snapshot(...names: string[]): Batch {
  const events = names.map((name) => ({ type: EventType.ADDED, object: message("shop", name) }));
  return {
    resource: podResource,
    events: [{ type: EventType.RESET }, ...events, { type: EventType.SYNCED }],
  };
}

/** Returns a caller whose client is never replaced. */
function always(client: Client): Caller {
  return { client, renewed: () => assert.fail("the client is never replaced") };
}

/** Creates a feed of a service that supports the selectors "" and "app=web", with open streams. */
function feedOf(states: Connection[] = []): PodFeed {
  const transport = createRouterTransport(({ service }) => {
    service(ResourceService, {
      async *watch({ labelSelector, fields }, { signal }) {
        assert.deepEqual(fields, podFields);
        if (labelSelector === "(") throw new ConnectError("unbalanced", Code.InvalidArgument);
        yield labelSelector === "" ? snapshot("web", "db") : snapshot("web");
        await new Promise((resolve) => {
          signal.addEventListener("abort", resolve);
        });
      },
    });
  });
  return new PodFeed(always(createClient(transport)), {
    connection: (connection) => states.push(connection),
    changed: () => undefined,
    arriving: () => undefined,
  });
}

/** Creates a feed of streams that send batches and are then lost, except the last stream. */
function feedOfStreams(
  states: Connection[],
  streams: Batch[][],
): { feed: PodFeed; tokens: string[]; last: Promise<void> } {
  const tokens: string[] = [];
  let reached = (): void => undefined;
  const last = new Promise<void>((resolve) => (reached = resolve));
  const transport = createRouterTransport(({ service }) => {
    service(ResourceService, {
      async *watch({ resumeToken }, { signal }) {
        yield* streams[tokens.push(resumeToken) - 1] ?? [];
        if (tokens.length < streams.length) throw new ConnectError("gone", Code.Unavailable);
        reached();
        await new Promise((resolve) => {
          signal.addEventListener("abort", resolve);
        });
      },
    });
  });
  const observer = {
    connection: (connection: Connection) => states.push(connection),
    changed: () => undefined,
    arriving: () => undefined,
  };
  const feed = new PodFeed(always(createClient(transport)), observer, () => Promise.resolve());
  return { feed, tokens, last };
}

suite("the feed", () => {
  test("is live with a complete snapshot", async (t) => {
    const states: Connection[] = [];
    const feed = feedOf(states);
    t.after(() => {
      feed.close();
    });
    assert.equal(feed.synced, false);
    await feed.select("");
    assert.equal(feed.synced, true);
    assert.deepEqual([...feed.pods.keys()], ["shop/web", "shop/db"]);
    assert.deepEqual(states, [{ state: "live" }]);
  });

  test("shows another selection when its snapshot is complete", async (t) => {
    const feed = feedOf();
    t.after(() => {
      feed.close();
    });
    await feed.select("");
    const selected = feed.select("app=web");
    assert.equal(feed.pods.size, 2);
    await selected;
    assert.deepEqual([...feed.pods.keys()], ["shop/web"]);
  });

  test("keeps its pods when a selector is rejected", async (t) => {
    const feed = feedOf();
    t.after(() => {
      feed.close();
    });
    await feed.select("");
    await assert.rejects(feed.select("("), { name: "KubeconnectError", message: "unbalanced" });
    assert.equal(feed.pods.size, 2);
  });

  test("lets the last of several selectors win", async (t) => {
    const feed = feedOf();
    t.after(() => {
      feed.close();
    });
    await Promise.all([feed.select(""), feed.select("app=web")]);
    assert.deepEqual([...feed.pods.keys()], ["shop/web"]);
  });

  test("resumes a lost stream, and is live with its first message", async (t) => {
    const at = new Date("2026-01-02T12:31:07Z");
    t.mock.timers.enable({ apis: ["Date"], now: at });
    const states: Connection[] = [];
    const deleted = { type: EventType.DELETED, object: message("shop", "db") };
    const stranger = { type: EventType.DELETED, object: message("shop", "stranger") };
    const added = { type: EventType.ADDED, object: message("shop", "new") };
    const { feed, tokens, last } = feedOfStreams(states, [
      [{ ...snapshot("web", "db"), resumeToken: "t1" }],
      [{ events: [deleted, stranger, added], resumeToken: "t2" }],
      [],
    ]);
    t.after(() => {
      feed.close();
    });
    await feed.select("");
    await last;
    assert.deepEqual([...feed.pods.keys()], ["shop/web", "shop/new"]);
    assert.deepEqual(tokens, ["", "t1", "t2"]);
    const lost = { state: "reconnecting", reason: "gone", lastMessage: at };
    assert.deepEqual(states, [{ state: "live" }, lost, { state: "live" }, lost]);
  });

  test("is live again only when a new snapshot is complete", async (t) => {
    const at = new Date("2026-01-02T12:31:07Z");
    t.mock.timers.enable({ apis: ["Date"], now: at });
    const states: Connection[] = [];
    const { feed, tokens, last } = feedOfStreams(states, [
      [snapshot("web")],
      [{ resource: podResource, events: [{ type: EventType.RESET }] }],
      [snapshot("web")],
    ]);
    t.after(() => {
      feed.close();
    });
    await feed.select("");
    await last;
    assert.deepEqual(tokens, ["", "", ""]);
    const lost = { state: "reconnecting", reason: "gone", lastMessage: at };
    assert.deepEqual(states, [{ state: "live" }, lost, { state: "live" }]);
  });

  test("reports a silent service, and the time of its last message", async (t) => {
    const at = new Date("2026-01-02T12:31:07Z");
    t.mock.timers.enable({ apis: ["Date", "setTimeout"], now: at });
    const states: Connection[] = [];
    const feed = feedOf(states);
    t.after(() => {
      feed.close();
    });
    await feed.select("");
    const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    await settled();
    t.mock.timers.tick(12_000);
    await settled();
    assert.deepEqual(states, [
      { state: "live" },
      { state: "reconnecting", reason: "the service does not respond", lastMessage: at },
    ]);
  });

  test("reports no time of a last message before the first message", async (t) => {
    const states: Connection[] = [];
    const { feed, last } = feedOfStreams(states, [[], [snapshot("web")]]);
    t.after(() => {
      feed.close();
    });
    await feed.select("");
    await last;
    const lost = { state: "reconnecting", reason: "gone", lastMessage: undefined };
    assert.deepEqual(states, [lost, { state: "live" }]);
  });

  test("has the namespaces of the pods, if these are not all", async (t) => {
    const changed = { events: [{ type: EventType.BOOKMARK }], namespaces: ["shop"] };
    const { feed, last } = feedOfStreams(
      [],
      [[{ ...snapshot("web"), namespaces: ["shop", "bank"] }, changed]],
    );
    t.after(() => {
      feed.close();
    });
    assert.deepEqual(feed.namespaces, []);
    await feed.select("");
    assert.deepEqual(feed.namespaces, ["shop", "bank"]);
    await last;
    assert.deepEqual(feed.namespaces, ["shop"]);
  });

  test("applies changes during a snapshot", async (t) => {
    const event = (type: EventType, name: string) => ({ type, object: message("shop", name) });
    const { feed, last } = feedOfStreams(
      [],
      [
        [
          {
            resource: podResource,
            events: [{ type: EventType.RESET }, event(EventType.ADDED, "web")],
          },
          { events: [event(EventType.ADDED, "db"), event(EventType.MODIFIED, "web")] },
          { events: [event(EventType.DELETED, "db"), event(EventType.DELETED, "stranger")] },
          { events: [{ type: EventType.SYNCED }] },
        ],
      ],
    );
    t.after(() => {
      feed.close();
    });
    await feed.select("");
    await last;
    assert.deepEqual([...feed.pods.keys()], ["shop/web"]);
  });

  test("reports since when the service has lost the cluster, until it is back", async (t) => {
    const states: Connection[] = [];
    const bookmark = { events: [{ type: EventType.BOOKMARK }], resumeToken: "t2" };
    const lastContactTime = new Date("2026-01-02T12:31:07Z");
    const stale = { stale: true, lastContactTime: timestampFromDate(lastContactTime) };
    const { feed, last } = feedOfStreams(states, [
      [
        { ...snapshot("web"), resumeToken: "t1" },
        { ...bookmark, freshness: stale },
        { ...bookmark, freshness: stale },
        { ...bookmark, freshness: { stale: false } },
      ],
    ]);
    t.after(() => {
      feed.close();
    });
    await feed.select("");
    await last;
    assert.deepEqual(states, [
      { state: "live" },
      { state: "stale", lastContactTime },
      { state: "live" },
    ]);
  });
});
