import assert from "node:assert/strict";
import { suite, test } from "node:test";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, createRouterTransport } from "@connectrpc/connect";
import { createClient } from "@kubeconnect/client";
import { EventType, ResourceService, type WatchResponseSchema } from "@kubeconnect/client/proto";
import { PodFeed, type Connection } from "../src/feed.js";
import { message, podKind } from "./fixture.js";

type Batch = MessageInitShape<typeof WatchResponseSchema>;

function snapshot(...names: string[]): Batch {
  const events = names.map((name) => ({ type: EventType.ADDED, object: message("shop", name) }));
  return {
    kind: podKind,
    events: [{ type: EventType.RESET }, ...events, { type: EventType.SYNCED }],
  };
}

/** A feed from a service that knows the selectors "" and "app=web" and stays open. */
function feedOf(states: Connection[] = []): PodFeed {
  const transport = createRouterTransport(({ service }) => {
    service(ResourceService, {
      async *watch({ labelSelector }, { signal }) {
        if (labelSelector === "(") throw new ConnectError("unbalanced", Code.InvalidArgument);
        yield labelSelector === "" ? snapshot("web", "db") : snapshot("web");
        await new Promise((resolve) => {
          signal.addEventListener("abort", resolve);
        });
      },
    });
  });
  return new PodFeed(createClient(transport), {
    connection: (connection) => states.push(connection),
    changed: () => undefined,
    arriving: () => undefined,
  });
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

  test("shows another selection when that is complete", async (t) => {
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

  test("keeps what it shows when a selector is refused", async (t) => {
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
});
