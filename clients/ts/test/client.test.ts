import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { KubeconnectError } from "../src/index.js";
import {
  Consistency,
  Encoding,
  EventType,
  GetRequestSchema,
  ListRequestSchema,
  RelationType,
  Source,
  StatusSchema,
  WatchRequestSchema,
  type GetRequest,
  type ListRequest,
  type WatchRequest,
} from "../src/proto.js";
import { clientOf, pod, podResource, untilEnd } from "./fixture.js";

const lastContactTime = timestampFromDate(new Date("2026-01-02T12:31:07Z"));

suite("get", () => {
  test("returns the head, and decodes the value on access", async () => {
    const client = clientOf({
      get(request) {
        assert.equal(request.encoding, Encoding.JSON);
        assert.equal(request.minResourceVersion, "41");
        return { resource: podResource, object: pod(request.name, "42") };
      },
    });
    const object = await client.get(
      "pods",
      { namespace: "default", name: "web" },
      { minResourceVersion: "41" },
    );
    assert.equal(object.key, "default/web");
    assert.equal(object.resourceVersion, "42");
    assert.equal(object.resource.kind, "Pod");
    assert.deepEqual(object.value.metadata.labels, { app: "web" });
    assert.equal(object.value, object.value);
  });

  test("sends all options", async () => {
    let sent: GetRequest | undefined;
    const client = clientOf({
      get(request) {
        sent = request;
        return { resource: podResource, object: pod(request.name) };
      },
    });
    await client.get(
      "po",
      { namespace: "default", name: "web" },
      {
        subresource: "status",
        fields: ["status.phase", "metadata.name"],
        metadataOnly: true,
        minResourceVersion: "41",
        consistency: "latest",
      },
    );
    const want = create(GetRequestSchema, {
      resource: "po",
      namespace: "default",
      name: "web",
      subresource: "status",
      fields: ["status.phase", "metadata.name"],
      metadataOnly: true,
      minResourceVersion: "41",
      consistency: Consistency.LATEST,
      encoding: Encoding.JSON,
    });
    assert.deepEqual(sent, want);
  });

  test("returns where the object was read, and how current it is", async () => {
    const sources = [Source.CACHE, Source.API_SERVER, Source.UNSPECIFIED];
    const client = clientOf({
      get: ({ name }) => ({
        resource: podResource,
        object: pod(name),
        source: sources[Number(name)] ?? Source.UNSPECIFIED,
        freshness: { stale: true, lastContactTime },
      }),
    });
    const seen: unknown[] = [];
    for (const name of sources.keys()) {
      const { source, freshness } = await client.get("pods", { name: String(name) });
      seen.push(source, freshness?.stale);
    }
    assert.deepEqual(seen, ["cache", true, "apiServer", true, undefined, true]);
  });

  test("fails with the cluster's error", async () => {
    const status = {
      reason: "Invalid",
      message: "Pod is invalid",
      causes: [{ reason: "FieldValueRequired", message: "required", field: "spec.containers" }],
      retryAfterSeconds: 3,
      omittedCauseCount: 270,
    };
    const client = clientOf({
      get() {
        const error = new ConnectError("message of the RPC", Code.InvalidArgument);
        error.details.push({ desc: StatusSchema, value: create(StatusSchema, status) });
        throw error;
      },
    });
    await assert.rejects(client.get("pods", { name: "web" }), (error) => {
      assert.ok(error instanceof KubeconnectError);
      assert.equal(error.code, Code.InvalidArgument);
      assert.equal(error.reason, "Invalid");
      assert.equal(error.message, "Pod is invalid");
      assert.deepEqual(error.causes, status.causes);
      assert.equal(error.retryAfterSeconds, 3);
      assert.equal(error.omittedCauseCount, 270);
      return true;
    });
  });

  test("decodes an object in any encoding", async () => {
    const json = pod("web").content;
    const value = { metadata: { name: "web", labels: { app: "web" } } };
    for (const content of [json, { case: "struct" as const, value }]) {
      const client = clientOf({
        get: () => ({ resource: podResource, object: { name: "web", content } }),
      });
      const object = await client.get("pods", { name: "web" });
      assert.deepEqual(object.value.metadata.labels, { app: "web" }, content.case);
    }
  });

  test("throws for an unreadable object only on access to its value", async () => {
    const client = clientOf({
      get() {
        const value = create(StatusSchema, { message: "no such message" });
        return {
          resource: podResource,
          object: { name: "web", content: { case: "error", value } },
        };
      },
    });
    const object = await client.get("pods", { name: "web" });
    assert.equal(object.name, "web");
    assert.throws(() => object.value, {
      name: "UnreadableObjectError",
      message: "no such message",
    });
  });

  test("ends with the reason of the caller's signal", async () => {
    const controller = new AbortController();
    const client = clientOf({
      get(_, context) {
        controller.abort(new Error("enough"));
        context.signal.throwIfAborted();
        return {};
      },
    });
    const call = client.get("pods", { name: "web" }, { signal: controller.signal });
    await assert.rejects(call, { message: "enough" });
  });
});

suite("list", () => {
  const client = clientOf({
    list({ pageToken, pageSize, minResourceVersion }) {
      assert.equal(minResourceVersion, "8");
      assert.equal(pageSize, 2);
      return pageToken === ""
        ? {
            resource: podResource,
            objects: [pod("a"), pod("b")],
            nextPageToken: "2",
            resourceVersion: "9",
            remainingItemCount: 1n,
            freshness: { stale: true, lastContactTime },
            source: Source.CACHE,
            warnings: ["2 left out"],
          }
        : { resource: podResource, objects: [pod("c")], resourceVersion: "9" };
    },
  });

  test("iterates over the objects of all pages", async () => {
    const names: string[] = [];
    for await (const object of client.list("pods", { pageSize: 2, minResourceVersion: "8" })) {
      names.push(object.name);
    }
    assert.deepEqual(names, ["a", "b", "c"]);
  });

  test("returns the pages of the service", async () => {
    const pages: [number, number][] = [];
    for await (const page of client
      .list("pods", { pageSize: 2, minResourceVersion: "8" })
      .pages()) {
      pages.push([page.objects.length, page.remaining]);
    }
    assert.deepEqual(pages, [
      [2, 1],
      [1, 0],
    ]);
  });

  test("collects everything with the version of the snapshot", async () => {
    const all = await client.list("pods", { pageSize: 2, minResourceVersion: "8" }).all();
    assert.equal(all.objects.length, 3);
    assert.equal(all.resourceVersion, "9");
    assert.equal(all.resource.plural, "pods");
    assert.deepEqual(all.freshness, {
      stale: true,
      lastContactTime: new Date("2026-01-02T12:31:07Z"),
    });
    assert.equal(all.source, "cache");
    assert.deepEqual(all.warnings, ["2 left out"]);
  });

  suite("that expires", () => {
    const expired = new ConnectError("list again", Code.OutOfRange, undefined, [
      { desc: StatusSchema, value: create(StatusSchema, { reason: "Expired" }) },
    ]);
    const unknownToken = new ConnectError("page_token: unknown format", Code.InvalidArgument);
    const expiring = (times: number, error = expired) => {
      const tokens: string[] = [];
      const client = clientOf({
        list({ pageToken }) {
          tokens.push(pageToken);
          if (pageToken === "") {
            return { resource: podResource, objects: [pod("a"), pod("b")], nextPageToken: "2" };
          }
          if (times-- > 0) throw error;
          return { resource: podResource, objects: [pod("c")] };
        },
      });
      return { client, tokens };
    };

    test("restarts all()", async () => {
      const { client, tokens } = expiring(2);
      const { objects } = await client.list("pods").all();
      assert.deepEqual(
        objects.map((object) => object.name),
        ["a", "b", "c"],
      );
      assert.deepEqual(tokens, ["", "2", "", "2", "", "2"]);
    });

    test("restarts all() if a replica cannot read the page token", async () => {
      const { client, tokens } = expiring(1, unknownToken);
      assert.equal((await client.list("pods").all()).objects.length, 3);
      assert.deepEqual(tokens, ["", "2", "", "2"]);
    });

    test("has expired for an iteration if a replica cannot read the page token", async () => {
      const { client } = expiring(1, unknownToken);
      const iteration = (async () => {
        for await (const { name } of client.list("pods")) assert.notEqual(name, "c");
      })();
      await assert.rejects(iteration, {
        name: "ExpiredError",
        message: "list expired after 2 objects: page_token: unknown format",
        code: Code.OutOfRange,
        reason: "Expired",
      });
    });

    test("restarts at most twice", async () => {
      const { client, tokens } = expiring(9);
      await assert.rejects(client.list("pods").all(), { code: Code.OutOfRange });
      assert.equal(tokens.length, 6);
    });

    test("reports how many objects were returned before", async () => {
      const { client } = expiring(1);
      const iteration = (async () => {
        for await (const object of client.list("pods")) {
          assert.notEqual(object.name, "c");
        }
      })();
      await assert.rejects(iteration, {
        message: "list expired after 2 objects: list again",
        code: Code.OutOfRange,
        reason: "Expired",
      });
    });
  });

  test("sends the same selection for each page", async () => {
    const requests: ListRequest[] = [];
    const client = clientOf({
      list(request) {
        requests.push(request);
        return { resource: podResource, nextPageToken: request.pageToken === "" ? "2" : "" };
      },
    });
    const related = { type: "ownedBy", resource: "deploy", name: "web", transitive: true } as const;
    const selection = { namespace: "a", labelSelector: "c=d", fieldSelector: "e=f", filter: "g" };
    const order = { orderBy: "h desc", pageSize: 2 };
    const options = { fields: ["i"], metadataOnly: true, minResourceVersion: "8" };
    await client
      .list("po", { ...selection, ...order, related, ...options, consistency: "latest" })
      .all();
    const want = {
      ...selection,
      ...order,
      ...options,
      resource: "po",
      related: { ...related, type: RelationType.OWNED_BY },
      consistency: Consistency.LATEST,
      encoding: Encoding.JSON,
    };
    assert.deepEqual(requests, [
      create(ListRequestSchema, want),
      create(ListRequestSchema, { ...want, pageToken: "2" }),
    ]);
  });
});

suite("watch", () => {
  test("delivers events in order, by event and by batch", async () => {
    const client = clientOf({
      // eslint-disable-next-line @typescript-eslint/require-await -- a stream that never waits
      async *watch() {
        yield {
          resource: podResource,
          events: [
            { type: EventType.RESET },
            { type: EventType.ADDED, object: pod("a"), resourceVersion: "1" },
            { type: EventType.SYNCED, resourceVersion: "5" },
          ],
        };
        yield { events: [{ type: EventType.BOOKMARK, resourceVersion: "6" }] };
      },
    });
    const events = await untilEnd(client.watch("pods", { reconnect: false }));
    assert.deepEqual(
      events.map(({ type }) => type),
      ["RESET", "ADDED", "SYNCED", "BOOKMARK"],
    );
    assert.ok(events[1]?.type === "ADDED");
    assert.equal(events[1].object.resource.kind, "Pod");

    const batches = await untilEnd(client.watch("pods", { reconnect: false }).batches());
    assert.deepEqual(
      batches.map(({ events }) => events.length),
      [3, 1],
    );
  });

  test("has the resume token and the freshness of the last event", async () => {
    const client = clientOf({
      // eslint-disable-next-line @typescript-eslint/require-await -- a stream that never waits
      async *watch() {
        const added = { type: EventType.ADDED, object: pod("a") };
        yield { resource: podResource, events: [{ type: EventType.RESET }, added] };
        yield { events: [{ type: EventType.SYNCED }], resumeToken: "t5" };
        yield {
          events: [{ type: EventType.MODIFIED, object: pod("a") }, { type: EventType.BOOKMARK }],
          resumeToken: "t6",
          freshness: { stale: true, lastContactTime },
        };
        yield {
          resource: podResource,
          events: [{ type: EventType.RESET }, { type: EventType.SYNCED }],
        };
      },
    });
    const watch = client.watch("pods", { resumeToken: "t4", reconnect: false });
    assert.equal(watch.resumeToken, "t4");
    const seen = await untilEnd(watch, ({ type }) => [
      type,
      watch.resumeToken,
      watch.freshness?.stale,
    ]);
    assert.deepEqual(seen, [
      ["RESET", "", undefined],
      ["ADDED", "", undefined],
      ["SYNCED", "t5", undefined],
      ["MODIFIED", "t5", true],
      ["BOOKMARK", "t6", true],
      ["RESET", "", true],
      ["SYNCED", "", true],
    ]);
  });

  test("has the last reported source, also in each batch", async () => {
    const reset = { type: EventType.RESET };
    const client = clientOf({
      // eslint-disable-next-line @typescript-eslint/require-await -- a stream that never waits
      async *watch() {
        yield { events: [{ type: EventType.BOOKMARK }] };
        yield { resource: podResource, source: Source.CACHE, events: [reset] };
        yield { events: [{ type: EventType.SYNCED }, { type: EventType.BOOKMARK }] };
        yield { resource: podResource, source: Source.API_SERVER, events: [reset] };
      },
    });
    const watch = client.watch("pods", { reconnect: false });
    const seen = await untilEnd(watch, () => watch.source);
    assert.deepEqual(seen, [undefined, "cache", "cache", "cache", "apiServer"]);
    const batches = client.watch("pods", { reconnect: false }).batches();
    assert.deepEqual(await untilEnd(batches, ({ source }) => source), [
      undefined,
      "cache",
      "cache",
      "apiServer",
    ]);
  });

  test("sends the selection and the token, and has the kind of its stream", async () => {
    const related = { type: "selectedBy", resource: "services", name: "web" } as const;
    const selection = {
      namespace: "a",
      name: "b",
      labelSelector: "c=d",
      fieldSelector: "e=f",
      filter: "g",
    };
    const requests: WatchRequest[] = [];
    const client = clientOf({
      // eslint-disable-next-line @typescript-eslint/require-await -- a stream that never waits
      async *watch(request) {
        requests.push(request);
        const event = { type: EventType.MODIFIED, object: pod("a") };
        yield {
          events: [event],
          ...(request.resumeToken === "t0" ? {} : { resource: podResource }),
        };
      },
    });
    const kinds: string[] = [];
    for (const resumeToken of ["t0", "", "t0"]) {
      const options = { resumeToken, minResourceVersion: "3", fields: ["h"], metadataOnly: true };
      const watch = client.watch("pods", { ...selection, related, ...options, reconnect: false });
      for (const event of await untilEnd(watch)) {
        if (event.type === "MODIFIED") kinds.push(event.object.resource.kind);
      }
    }
    assert.deepEqual(kinds, ["", "Pod", ""]);
    const want = create(WatchRequestSchema, {
      ...selection,
      resource: "pods",
      related: { ...related, type: RelationType.SELECTED_BY },
      resumeToken: "t0",
      minResourceVersion: "3",
      fields: ["h"],
      metadataOnly: true,
      encoding: Encoding.JSON,
    });
    assert.deepEqual(requests[0], want);
  });

  test("skips an event of an unknown type", async () => {
    const client = clientOf({
      // eslint-disable-next-line @typescript-eslint/require-await -- a stream that never waits
      async *watch() {
        yield {
          resource: podResource,
          events: [{ type: EventType.UNSPECIFIED }, { type: EventType.RESET }],
        };
      },
    });
    const watch = client.watch("pods", { reconnect: false });
    assert.deepEqual(await untilEnd(watch, ({ type }) => type), ["RESET"]);
  });

  test("ends the stream when the loop is left", async () => {
    let end: (value?: unknown) => void;
    const ended = new Promise((resolve) => (end = resolve));
    const client = clientOf({
      async *watch(_, { signal }) {
        signal.addEventListener("abort", end);
        yield { resource: podResource, events: [{ type: EventType.RESET }] };
        await ended;
      },
    });
    for await (const event of client.watch("pods")) {
      assert.equal(event.type, "RESET");
      break;
    }
    await ended;
  });
});
