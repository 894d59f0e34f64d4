import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { KubeconnectError, type KubeValue, type WatchSpec } from "../src/index.js";
import { RetryPolicy } from "../src/retry.js";
import {
  Encoding,
  EventType,
  PatchFormat,
  Source,
  WatchManyRequestSchema,
  type EventSchema,
  type WatchManyRequest,
  type WatchManyResponseSchema,
} from "../src/proto.js";
import { clientOf, pod, podResource, untilEnd } from "./fixture.js";

type EventInit = MessageInitShape<typeof EventSchema>;
type ResponseInit = MessageInitShape<typeof WatchManyResponseSchema>;

const reset: EventInit = { type: EventType.RESET };
const added: EventInit = { type: EventType.ADDED, object: pod("a") };
const synced: EventInit = { type: EventType.SYNCED };
const bookmark: EventInit = { type: EventType.BOOKMARK, resourceVersion: "1" };
const waiting: EventInit = { type: EventType.BOOKMARK };
const watches = { web: { resource: "pods" }, all: { resource: "nodes" } };

/** Returns a message of one watch. */
function message(watchIndex: number, resumeToken: string, ...events: EventInit[]): ResponseInit {
  return { watchIndex, resumeToken, response: { resource: podResource, events } };
}

/** Creates a client whose nth stream sends the nth messages, then ends. */
function streams(...all: ResponseInit[][]) {
  const requests: WatchManyRequest[] = [];
  const client = clientOf({
    // eslint-disable-next-line @typescript-eslint/require-await -- a stream that never waits
    async *watchMany(request) {
      yield* all[requests.push(request) - 1] ?? [];
    },
  });
  return { client, requests };
}

suite("watchMany", () => {
  test("delivers events with the key of their watch, and one token", async () => {
    const { client } = streams([
      message(1, "t1", reset, synced),
      message(0, "t2", reset, added),
      message(0, "t3", synced),
    ]);
    const many = client.watchMany(watches, { resumeToken: "t0", reconnect: false });
    const seen = await untilEnd(many, ([key, event]) => {
      const name = "object" in event ? event.object.value.metadata.name : "";
      return [key, event.type, name, many.resumeToken];
    });
    assert.deepEqual(seen, [
      ["all", "RESET", "", ""],
      ["all", "SYNCED", "", "t1"],
      ["web", "RESET", "", ""],
      ["web", "ADDED", "a", "t2"],
      ["web", "SYNCED", "", "t3"],
    ]);
  });

  test("reports in each batch whether all are in sync", async () => {
    const { client } = streams([
      message(1, "t1", bookmark),
      message(0, "t1", waiting),
      message(0, "t2", reset, added),
      message(0, "t3", synced),
      message(1, "t4", reset),
    ]);
    const batches = client.watchMany(watches, { reconnect: false }).batches();
    const seen = await untilEnd(batches, ({ watch, synced }) => [watch, synced]);
    assert.deepEqual(seen, [
      ["all", false],
      ["web", false],
      ["web", false],
      ["web", true],
      ["all", false],
    ]);
  });

  test("types the objects of each key", async () => {
    interface Pod extends KubeValue {
      spec: { nodeName: string };
    }
    const { client } = streams([message(0, "t1", added)]);
    const specs = { pods: { resource: "pods" }, nodes: { resource: "nodes" } };
    const many = client.watchMany<{ pods: Pod; nodes: KubeValue }>(specs, { reconnect: false });
    const seen = await untilEnd(many, ([key, event]) => {
      if (key !== "pods" || event.type !== "ADDED") return undefined;
      const pod: Pod = event.object.value;
      return pod.metadata.name;
    });
    assert.deepEqual(seen, ["a"]);
  });

  test("sends each selection, and one token", async () => {
    const { client, requests } = streams([]);
    const selection = { namespace: "a", name: "b", labelSelector: "c=d", filter: "e" };
    const options = { fields: ["f"], metadataOnly: true, minResourceVersion: "3" };
    const many = client.watchMany(
      { one: { resource: "pods", ...selection, ...options }, two: { resource: "nodes" } },
      { resumeToken: "t0", reconnect: false },
    );
    assert.deepEqual(await untilEnd(many.batches()), []);
    const encoding = Encoding.JSON;
    const want = create(WatchManyRequestSchema, {
      watches: [
        { resource: "pods", ...selection, ...options, encoding },
        { resource: "nodes", encoding },
      ],
      resumeToken: "t0",
    });
    assert.deepEqual(requests, [want]);
  });

  test("resumes a lost stream, and applies patches", async () => {
    const operations = [{ op: "replace", path: "/metadata/resourceVersion", value: "2" }];
    const value = new TextEncoder().encode(JSON.stringify(operations));
    const object = { ...pod("a", "2"), content: { case: "json" as const, value } };
    const patch: EventInit = { type: EventType.MODIFIED, object, patchFormat: PatchFormat.JSON };
    const { client, requests } = streams(
      [message(0, "t1", reset, added, synced), message(1, "t2", reset, synced)],
      [message(0, "t3", patch)],
    );
    const web = { resource: "pods", patches: true, minResourceVersion: "1" };
    const many = client.watchMany({ ...watches, web }, { sleep: () => Promise.resolve() });
    for await (const batch of many.batches()) {
      const event = batch.events[0];
      if (event?.type !== "MODIFIED") continue;
      assert.equal(batch.watch, "web");
      assert.deepEqual(event.object.value.metadata, {
        namespace: "default",
        name: "a",
        uid: "uid-a",
        resourceVersion: "2",
        labels: { app: "a" },
      });
      break;
    }
    assert.deepEqual(
      requests.map(({ resumeToken, watches }) => [
        resumeToken,
        ...watches.map((w) => w.patchFormat),
      ]),
      [
        ["", PatchFormat.JSON, PatchFormat.UNSPECIFIED],
        ["t2", PatchFormat.JSON, PatchFormat.UNSPECIFIED],
      ],
    );
    assert.deepEqual(
      requests.map(({ watches }) => watches[0]?.minResourceVersion),
      ["1", ""],
    );
  });

  test("does not request patches after a token without cached objects", async () => {
    const { client, requests } = streams([]);
    const pods: WatchSpec = { resource: "pods", patches: true };
    const many = client.watchMany({ pods }, { resumeToken: "t0", reconnect: false });
    assert.deepEqual(await untilEnd(many.batches()), []);
    assert.equal(requests[0]?.watches[0]?.patchFormat, PatchFormat.UNSPECIFIED);
  });

  test("reports how current each watch is", async () => {
    const stale = { resource: podResource, events: [bookmark], freshness: { stale: true } };
    const { client } = streams([
      { watchIndex: 1, resumeToken: "t1", response: stale },
      message(0, "t2", bookmark),
      message(1, "t3", bookmark),
    ]);
    const many = client.watchMany(watches, { reconnect: false });
    const seen = await untilEnd(many, ([key]) => [key, many.freshness[key]?.stale]);
    assert.deepEqual(seen, [
      ["all", true],
      ["web", undefined],
      ["all", true],
    ]);
  });

  test("reports the source of each watch", async () => {
    const cached = { resource: podResource, source: Source.CACHE, events: [reset, synced] };
    const { client } = streams([
      { watchIndex: 1, resumeToken: "t1", response: cached },
      message(0, "t2", reset, synced),
      { watchIndex: 1, resumeToken: "t3", response: { events: [bookmark] } },
    ]);
    const many = client.watchMany(watches, { reconnect: false });
    const seen = await untilEnd(many.batches(), ({ watch, source }) => [watch, source]);
    assert.deepEqual(many.source, { all: "cache" });
    assert.deepEqual(seen, [
      ["all", "cache"],
      ["web", undefined],
      ["all", "cache"],
    ]);
  });

  test("fails if the service sends an unknown watch", async () => {
    const { client } = streams([message(2, "t1", reset)]);
    const many = client.watchMany(watches)[Symbol.asyncIterator]();
    await assert.rejects(many.next(), KubeconnectError);
  });

  test("waits longer after each failure until all are in sync", () => {
    const retry = new RetryPolicy({ firstDelayMs: 100, random: () => 1 });
    const lost = KubeconnectError.unavailable("lost");
    retry.received({ resumeToken: "t0", synced: false });
    retry.failed(lost);
    retry.received({ resumeToken: "t1", synced: false });
    assert.equal(retry.failed(lost), 200);
    retry.received({ resumeToken: "t2", synced: true });
    assert.equal(retry.failed(lost), 100);
  });
});
