import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { create, fromJson, type JsonValue } from "@bufbuild/protobuf";
import { ValueSchema, type Value } from "@bufbuild/protobuf/wkt";
import { average, Code, max, min, sum, type Aggregate } from "../src/index.js";
import {
  AggregateFunction,
  Consistency,
  CountRequestSchema,
  RelationType,
  Source,
  type CountRequest,
} from "../src/proto.js";
import { clientOf, podResource } from "./fixture.js";

function value(json: JsonValue): Value {
  return fromJson(ValueSchema, json);
}

suite("count", () => {
  test("returns the total, and the groups by values", async () => {
    const client = clientOf({
      count: () => ({
        resource: podResource,
        totalCount: 6n,
        groups: [
          { values: [value("n1"), value(2)], count: 3n },
          { values: [value(null), create(ValueSchema)], count: 2n },
        ],
        remainingGroupCount: 1n,
        resourceVersion: "9",
        source: Source.CACHE,
        namespaces: ["user-a"],
        warnings: ["2 left out"],
      }),
    });
    const { resource, freshness, ...count } = await client.count("pods");
    assert.equal(resource.kind, "Pod");
    assert.equal(freshness, undefined);
    assert.deepEqual(count, {
      total: 6,
      groups: [
        { values: ["n1", 2], count: 3, aggregates: [] },
        { values: [null, null], count: 2, aggregates: [] },
      ],
      aggregates: [],
      remainingGroupCount: 1,
      resourceVersion: "9",
      source: "cache",
      namespaces: ["user-a"],
      warnings: ["2 left out"],
    });
  });

  test("sends all options", async () => {
    let sent: CountRequest | undefined;
    const client = clientOf({
      count(request) {
        sent = request;
        return { resource: podResource, aggregates: [{}, {}, {}, {}] };
      },
    });
    const selection = { namespace: "a", labelSelector: "b=c", fieldSelector: "d=e", filter: "f" };
    const owner = { resource: "pods", namespace: "a", name: "web", uid: "u" };
    const related = { type: "ownerOf", ...owner } as const;
    const options = { groupBy: ["g.h"], maxGroups: 5, minResourceVersion: "8" };
    const aggregates = [sum("s"), average("a"), min("n"), max("x")];
    const all = { ...selection, related, ...options, aggregates };
    await client.count("po", { ...all, consistency: "latest" });
    const want = create(CountRequestSchema, {
      ...selection,
      ...options,
      resource: "po",
      related: { type: RelationType.OWNER_OF, ...owner },
      consistency: Consistency.LATEST,
      aggregates: [
        { function: AggregateFunction.SUM, path: "s" },
        { function: AggregateFunction.AVERAGE, path: "a" },
        { function: AggregateFunction.MIN, path: "n" },
        { function: AggregateFunction.MAX, path: "x" },
      ],
    });
    assert.deepEqual(sent, want);
  });

  test("returns the aggregates with the types of their functions", async () => {
    const cpu = { value: value(1.5), exact: "1.5", valueCount: 3n, omittedValueCount: 1n };
    const oldest = { value: value("2026-01-01T00:00:00Z"), valueCount: 2n };
    const none = { value: value(null) };
    const client = clientOf({
      count: () => ({
        resource: podResource,
        aggregates: [cpu, oldest],
        groups: [{ values: [], count: 1n, aggregates: [none, {}] }],
      }),
    });
    const { aggregates, groups } = await client.count("pods", {
      aggregates: [sum("spec.cpu"), min("metadata.creationTimestamp")],
    });
    const requested: number | null = aggregates[0].value;
    const created: string | number | boolean | null = aggregates[1].value;
    assert.deepEqual([requested, created], [1.5, "2026-01-01T00:00:00Z"]);
    assert.deepEqual(JSON.parse(JSON.stringify(aggregates)), [
      { value: 1.5, exact: "1.5", valueCount: 3, omittedValueCount: 1 },
      { value: "2026-01-01T00:00:00Z", exact: "", valueCount: 2, omittedValueCount: 0 },
    ]);
    assert.deepEqual(
      groups[0]?.aggregates.map(({ value }) => value),
      [null, null],
    );
  });

  for (const { exact, bigint, safeInteger } of [
    { exact: "3", bigint: 3n, safeInteger: 3 },
    { exact: "-9007199254740991", bigint: -9007199254740991n, safeInteger: -9007199254740991 },
    { exact: "9007199254740993", bigint: 9007199254740993n, safeInteger: undefined },
    { exact: "0.5", bigint: undefined, safeInteger: undefined },
    { exact: "", bigint: undefined, safeInteger: undefined },
  ]) {
    test(`converts the exact result "${exact}" only where it is exact`, async () => {
      const client = clientOf({
        count: () => ({ resource: podResource, aggregates: [{ exact }] }),
      });
      const { aggregates } = await client.count("pods", { aggregates: [sum("a")] });
      assert.equal(aggregates[0].bigint, bigint);
      assert.equal(aggregates[0].safeInteger, safeInteger);
    });
  }

  test("fails if the service does not know aggregates", async () => {
    const client = clientOf({ count: () => ({ resource: podResource }) });
    const counted = client.count("pods", { aggregates: [max("a")] });
    await assert.rejects(counted, { code: Code.Internal, message: /0 results for 1 aggregates/ });
    const aggregates: Aggregate[] = [{ function: "mean" as "average", path: "a" }];
    await assert.rejects(client.count("pods", { aggregates }), TypeError);
  });

  test("rejects an unknown option value, and a path without a list", async () => {
    const client = clientOf({ count: () => ({ resource: podResource }) });
    const consistency = "newest" as "latest";
    await assert.rejects(client.count("pods", { consistency }), TypeError);
    const groupBy = "spec.nodeName" as unknown as string[];
    await assert.rejects(client.count("pods", { groupBy }), TypeError);
    const related = { type: "owned" as "ownedBy", resource: "pods", name: "web" };
    await assert.rejects(client.count("pods", { related }), TypeError);
  });
});
