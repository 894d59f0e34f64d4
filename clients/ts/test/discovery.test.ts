import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { clientOf, podResource } from "./fixture.js";

suite("discovery", () => {
  test("returns the resources of the cluster", async () => {
    const names = {
      versions: ["v1"],
      singular: "pod",
      shortNames: ["po"],
      categories: ["all"],
      verbs: ["get", "list", "watch"],
      subresources: ["log", "status"],
    };
    const cache = { running: true, synced: true, resourceVersion: "9" };
    const client = clientOf(
      {},
      {
        listResourceTypes({ group, category }) {
          assert.deepEqual([group, category], ["core", "all"]);
          return {
            resourceTypes: [
              {
                resource: podResource,
                ...names,
                cache: { ...cache, objectCount: 3n, sizeBytes: 4096n },
              },
              { resource: { ...podResource, kind: "Node" } },
            ],
            failedGroupVersions: [{ group: "metrics.k8s.io", version: "v1", message: "down" }],
          };
        },
      },
    );
    const { types, failedGroupVersions } = await client.resourceTypes({
      group: "core",
      category: "all",
    });
    assert.deepEqual(
      types.map(({ resource }) => resource.kind),
      ["Pod", "Node"],
    );
    const state = { ...cache, objectCount: 3, sizeBytes: 4096, freshness: undefined };
    assert.deepEqual(types[0], { resource: types[0]?.resource, ...names, cache: state });
    assert.equal(types[1]?.cache, undefined);
    const [{ group, version, message } = {}] = failedGroupVersions;
    assert.deepEqual([group, version, message], ["metrics.k8s.io", "v1", "down"]);
  });

  test("returns the schema of a kind", async () => {
    const schema = { type: "object", properties: { spec: { maximum: 7 } } };
    const client = clientOf(
      {},
      {
        getSchema({ resource }) {
          assert.equal(resource, "po");
          return { resource: podResource, schema };
        },
      },
    );
    const result = await client.schema("po");
    assert.equal(result.resource.kind, "Pod");
    assert.deepEqual(result.schema, schema);
  });
});
