/* eslint-disable @typescript-eslint/require-await -- streams that never wait */
import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import {
  CountRequestSchema,
  EventType,
  ListRequestSchema,
  WatchRequestSchema,
  WatchSpecSchema,
  type CountRequest,
  type ListRequest,
  type WatchRequest,
  type WatchSpec,
} from "../src/proto.js";
import { clientOf, pod, podResource, untilEnd } from "./fixture.js";

const namespaces = ["user-a", "user-b"];
const warnings = ["only the namespaces that you are allowed to list"];

suite("a response that covers only some namespaces", () => {
  test("lists them on each page and in all()", async () => {
    const client = clientOf({
      list: ({ pageToken }) => ({
        resource: podResource,
        objects: [pod(`web-${pageToken}`)],
        nextPageToken: pageToken === "" ? "2" : "",
        namespaces,
        warnings: [...warnings, ...(pageToken === "" ? [] : ["of the second page"])],
      }),
    });
    for await (const page of client.list("pods").pages()) {
      assert.deepEqual(page.namespaces, namespaces);
    }
    const all = await client.list("pods").all();
    assert.deepEqual(all.namespaces, namespaces);
    assert.deepEqual(all.warnings, [...warnings, "of the second page"]);
  });

  test("lists them in every batch of a watch, until they change", async () => {
    const client = clientOf({
      async *watch() {
        yield { resource: podResource, events: [{ type: EventType.RESET }], namespaces, warnings };
        yield { events: [{ type: EventType.SYNCED }] };
        yield { events: [{ type: EventType.ADDED, object: pod("web") }], namespaces: ["user-b"] };
        yield { events: [{ type: EventType.BOOKMARK }] };
        yield { resource: podResource, events: [{ type: EventType.RESET }] };
      },
    });
    const batches = await untilEnd(client.watch("pods", { reconnect: false }).batches());
    assert.deepEqual(
      batches.map((batch) => batch.namespaces),
      [namespaces, namespaces, ["user-b"], ["user-b"], []],
    );
    assert.deepEqual(
      batches.map((batch) => batch.warnings),
      [warnings, [], [], [], []],
    );
    const watch = client.watch("pods", { reconnect: false });
    assert.deepEqual(
      await untilEnd(watch, () => [watch.namespaces.length, watch.warnings.length]),
      [
        [2, 1],
        [2, 1],
        [1, 1],
        [1, 1],
        [0, 0],
      ],
    );
  });

  test("lists them in each of several watches", async () => {
    const client = clientOf({
      async *watchMany() {
        yield { watchIndex: 0, response: { resource: podResource, warnings, namespaces } };
        yield {
          watchIndex: 1,
          response: { resource: podResource, events: [{ type: EventType.RESET }] },
        };
        yield { watchIndex: 0, response: { events: [{ type: EventType.RESET }] } };
      },
    });
    const watches = { pods: { resource: "pods" }, nodes: { resource: "nodes" } };
    const many = client.watchMany(watches, { reconnect: false });
    const seen = await untilEnd(many, ([key]) => [key, many.namespaces[key], many.warnings[key]]);
    assert.deepEqual(seen, [
      ["nodes", [], []],
      ["pods", namespaces, warnings],
    ]);
  });
});

test("requireAllNamespaces is sent with a list, a count and each kind of watch", async () => {
  const requests: (ListRequest | CountRequest | WatchRequest | WatchSpec | undefined)[] = [];
  const client = clientOf({
    list(request) {
      requests.push(request);
      return { resource: podResource };
    },
    count(request) {
      requests.push(request);
      return { resource: podResource };
    },
    async *watch(request) {
      requests.push(request);
      yield { resource: podResource };
    },
    async *watchMany({ watches }) {
      requests.push(...watches);
      yield { response: { resource: podResource } };
    },
  });
  const all = { requireAllNamespaces: true };
  await client.list("pods", all).all();
  await client.count("pods", all);
  await client.watch("pods", all).batches().next();
  await client
    .watchMany({ pods: { resource: "pods", ...all } })
    .batches()
    .next();
  assert.deepEqual(
    requests.map((request) => [request?.$typeName, request?.requireAllNamespaces]),
    [ListRequestSchema, CountRequestSchema, WatchRequestSchema, WatchSpecSchema].map((schema) => [
      create(schema).$typeName,
      true,
    ]),
  );
});

test("the version of a watch decreases only with a RESET", async () => {
  const client = clientOf({
    async *watch() {
      yield {
        resource: podResource,
        events: [
          { type: EventType.RESET },
          { type: EventType.ADDED, object: pod("web"), resourceVersion: "9" },
          { type: EventType.DELETED, object: pod("web"), resourceVersion: "12" },
          { type: EventType.SYNCED, resourceVersion: "10" },
          { type: EventType.BOOKMARK, resourceVersion: "11" },
          { type: EventType.BOOKMARK, resourceVersion: "100" },
          { type: EventType.RESET },
          { type: EventType.SYNCED, resourceVersion: "20" },
        ],
      };
    },
  });
  const watch = client.watch("pods", { reconnect: false });
  const versions = await untilEnd(watch, ({ resourceVersion }) => resourceVersion);
  assert.deepEqual(versions, ["", "9", "12", "12", "12", "100", "", "20"]);
});
