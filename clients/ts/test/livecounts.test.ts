import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { create, fromJson, type JsonValue, type MessageInitShape } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import { LiveCounts, sum, type ConnectionState, type Counts } from "../src/index.js";
import {
  AggregateFunction,
  Source,
  WatchCountsRequestSchema,
  WatchCountsResponseSchema,
  type WatchCountsRequest,
} from "../src/proto.js";
import { clientOf, FakeStreams, oneCounts, podResource, until } from "./fixture.js";

type Response = MessageInitShape<typeof WatchCountsResponseSchema>;

const lost = new ConnectError("lost", Code.Unavailable);
const noDelay = (): Promise<void> => Promise.resolve();

function service() {
  const streams = new FakeStreams<WatchCountsRequest, Response>();
  return { streams, client: clientOf({ watchMany: oneCounts(streams.open) }) };
}

function group(values: JsonValue[], count: number, cpu = count) {
  return {
    values: values.map((each) => fromJson(ValueSchema, each)),
    count: BigInt(count),
    aggregates: [result(cpu)],
  };
}

function result(cpu: number) {
  return { value: fromJson(ValueSchema, cpu), exact: `${cpu}`, valueCount: 1n };
}

/** Returns a message with all groups. */
function all(
  resourceVersion: string,
  total: number,
  ...groups: ReturnType<typeof group>[]
): Response {
  const base = {
    reset: true,
    freshness: {},
    source: Source.CACHE,
    resource: podResource,
    resourceVersion,
    totalCount: BigInt(total),
  };
  return { ...base, aggregates: [result(total)], groups };
}

/** Returns a message with the groups that have changed. */
function change(
  resourceVersion: string,
  total: number,
  ...groups: ReturnType<typeof group>[]
): Response {
  return { resourceVersion, totalCount: BigInt(total), aggregates: [result(total)], groups };
}

const heartbeat = change;

/** Returns the counts by value. */
function counted({ groups }: Counts): unknown[] {
  return groups.map(({ values, count }) => [...values, count]);
}

suite("watchCounts", () => {
  test("sends all options", async () => {
    const { streams, client } = service();
    const selection = { namespace: "a", labelSelector: "b=c", fieldSelector: "d=e", filter: "f" };
    const counts = client.watchCounts("po", {
      ...selection,
      groupBy: ["g.h"],
      aggregates: [sum("i")],
      minResourceVersion: "8",
      minIntervalMs: 250,
      requireAllNamespaces: true,
    });
    const leave = counts.subscribe(() => undefined);
    const { request } = await streams.next();
    leave();
    const want = create(WatchCountsRequestSchema, {
      ...selection,
      resource: "po",
      groupBy: ["g.h"],
      aggregates: [{ function: AggregateFunction.SUM, path: "i" }],
      minResourceVersion: "8",
      minInterval: { nanos: 250_000_000 },
      requireAllNamespaces: true,
    });
    assert.deepEqual(request, want);
  });

  test("yields all numbers after each change, and nothing without a change", async () => {
    const { streams, client } = service();
    const counts = client.watchCounts("pods", { groupBy: ["a"], aggregates: [sum("b")] });
    const snapshots = counts[Symbol.asyncIterator]();
    const first = snapshots.next();
    const stream = await streams.next();
    stream.send(all("5", 3, group(["x"], 2), group(["y"], 1)));
    const { value: before } = await first;
    assert.deepEqual(counted(before), [
      ["x", 2],
      ["y", 1],
    ]);
    stream.send(heartbeat("6", 3), change("7", 4, group(["y"], 4), group(["x"], 0)));
    const { value: after } = await snapshots.next();
    assert.deepEqual(counted(after), [["y", 4]]);
    assert.equal(after.aggregates[0].value, 4);
    assert.deepEqual([before.resourceVersion, after.resourceVersion], ["5", "7"]);
    assert.deepEqual([before.resource.plural, before.source], ["pods", "cache"]);
    assert.equal(before.groups.length, 2, "an earlier snapshot has changed");
    await snapshots.return(undefined as never);
    await stream.closed;
  });

  test("keeps the identity of what has not changed, also over a reset", async () => {
    const { streams, client } = service();
    const counts = client.watchCounts("pods", { groupBy: ["a"], aggregates: [sum("b")] });
    const leave = counts.subscribe(() => undefined);
    const stream = await streams.next();
    stream.send(all("5", 3, group(["x"], 2), group(["y"], 1)));
    const first = await until(counts, ({ snapshot }) => snapshot !== undefined);
    stream.send(change("6", 4, group(["y"], 1, 9)));
    const second = await until(counts, ({ snapshot }) => snapshot !== first);
    assert.equal(second?.groups[0], first?.groups[0]);
    assert.notEqual(second?.groups[1], first?.groups[1]);
    stream.send(
      all("7", 4, group(["y"], 1, 9), group(["x"], 2)),
      new ConnectError("", Code.Unavailable),
    );
    const again = await streams.next();
    assert.equal(counts.snapshot, second);
    again.send(all("8", 5, group(["x"], 2), group(["y"], 1, 9), group(["z"], 1)));
    const third = await until(counts, ({ snapshot }) => snapshot !== second);
    assert.deepEqual(third?.groups.slice(0, 2), second?.groups);
    assert.equal(third?.groups[0], second?.groups[0]);
    assert.equal(third?.groups[1], second?.groups[1]);
    leave();
  });

  test("orders groups by size, and then by values", async () => {
    const { streams, client } = service();
    const counts = client.watchCounts("pods", { groupBy: ["a", "b"], aggregates: [sum("b")] });
    const leave = counts.subscribe(() => undefined);
    const values = [
      ["b", 1],
      ["a", 2],
      [10, 0],
      [9, 0],
      [true, 0],
      [false, 0],
      [null, 0],
      ["a", null],
    ];
    const groups = values.map((each) => group(each, 1));
    (await streams.next()).send(all("5", 9, ...groups, group(["z", 0], 2)));
    const snapshot = await until(counts, ({ snapshot }) => snapshot !== undefined);
    assert.deepEqual(
      snapshot?.groups.map(({ values }) => values),
      [
        ["z", 0],
        [null, 0],
        [false, 0],
        [true, 0],
        [9, 0],
        [10, 0],
        ["a", null],
        ["a", 2],
        ["b", 1],
      ],
    );
    leave();
  });

  test("has no numbers while the service waits, and reports its freshness", async () => {
    const { streams, client } = service();
    const counts = client.watchCounts("pods", { aggregates: [sum("b")] });
    const leave = counts.subscribe(() => undefined);
    const stream = await streams.next();
    stream.send({ freshness: { stale: true } });
    await until(counts, ({ freshness }) => freshness?.stale === true);
    assert.equal(counts.snapshot, undefined);
    stream.send(all("5", 1));
    await until(counts, ({ snapshot }) => snapshot?.total === 1);
    assert.equal(counts.freshness?.stale, false);
    leave();
  });

  test("keeps its numbers over a lost stream, and reports the connection", async () => {
    const { streams, client } = service();
    const states: ConnectionState["state"][] = [];
    let closed = (): void => undefined;
    const isClosed = new Promise<void>((resolve) => (closed = resolve));
    const onConnection = ({ state }: ConnectionState): void => {
      states.push(state);
      if (state === "closed") closed();
    };
    const options = { aggregates: [sum("b")] as const, sleep: noDelay, onConnection };
    const counts = client.watchCounts("pods", options);
    const leave = counts.subscribe(() => undefined);
    (await streams.next()).send(all("5", 1), lost);
    const again = await streams.next();
    assert.equal(counts.connection.state, "lost");
    assert.equal(counts.freshness?.stale, true);
    again.send({ freshness: {} });
    await until(counts, ({ connection }) => connection.state === "connected");
    assert.equal(counts.snapshot?.total, 1);
    again.send(all("6", 2));
    await until(counts, ({ snapshot }) => snapshot?.total === 2);
    leave();
    await isClosed;
    assert.deepEqual(states, ["connected", "lost", "connected", "closed"]);
  });

  test("throws in iterations and has its error when it is rejected, until it is followed again", async () => {
    const { streams, client } = service();
    const counts = client.watchCounts("pods");
    assert.ok(counts instanceof LiveCounts);
    const first = counts[Symbol.asyncIterator]().next();
    (await streams.next()).send(new ConnectError("no", Code.PermissionDenied));
    await assert.rejects(first, { code: Code.PermissionDenied });
    assert.equal(counts.error?.code, Code.PermissionDenied);
    const leave = counts.subscribe(() => undefined);
    assert.equal(counts.error, undefined);
    (await streams.next()).send({ ...all("5", 1), aggregates: [] });
    await until(counts, ({ snapshot }) => snapshot?.total === 1);
    leave();
  });

  test("rejects with the reason of the caller's signal", async () => {
    const { streams, client } = service();
    const stopping = new AbortController();
    const counts = client.watchCounts("pods", { signal: stopping.signal });
    const first = counts[Symbol.asyncIterator]().next();
    const stream = await streams.next();
    const reason = new Error("enough");
    stopping.abort(reason);
    await assert.rejects(first, reason);
    await stream.closed;
  });
});
