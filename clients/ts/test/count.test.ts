import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { create, fromJson, type JsonValue } from "@bufbuild/protobuf";
import { ValueSchema, type Value } from "@bufbuild/protobuf/wkt";
import {
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
        { values: ["n1", 2], count: 3 },
        { values: [null, null], count: 2 },
      ],
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
        return { resource: podResource };
      },
    });
    const selection = { namespace: "a", labelSelector: "b=c", fieldSelector: "d=e", filter: "f" };
    const owner = { resource: "pods", namespace: "a", name: "web", uid: "u" };
    const related = { type: "ownerOf", ...owner } as const;
    const options = { groupBy: ["g.h"], maxGroups: 5, minResourceVersion: "8" };
    await client.count("po", { ...selection, related, ...options, consistency: "latest" });
    const want = create(CountRequestSchema, {
      ...selection,
      ...options,
      resource: "po",
      related: { type: RelationType.OWNER_OF, ...owner },
      consistency: Consistency.LATEST,
    });
    assert.deepEqual(sent, want);
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
