import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { JoinSchema, JoinType, type ListRequest } from "../src/proto.js";
import { clientOf, pod, podResource } from "./fixture.js";

const node = { resource: "nodes", path: "spec.nodeName", fields: ["metadata.labels"] };
const owner = { resource: "deployments", filter: "true", limit: 2, fields: ["spec"] };
const joins = {
  node: { type: "namedBy", ...node },
  owner: { type: "ownerOf", ...owner },
} as const;

suite("joins", () => {
  test("are sent by name", async () => {
    let sent: ListRequest | undefined;
    const client = clientOf({
      list(request) {
        sent = request;
        return { resource: podResource };
      },
    });
    await client.list("pods", { joins }).all();
    assert.deepEqual(sent?.joins, [
      create(JoinSchema, { name: "node", ...node, type: JoinType.NAMED_BY }),
      create(JoinSchema, { name: "owner", ...owner, type: JoinType.OWNER_OF }),
    ]);
    const unknown = { type: "like" as "names", resource: "nodes" };
    await assert.rejects(client.list("pods", { joins: { unknown } }).all(), TypeError);
  });

  test("return the related objects by name, and whether the caller may see them", async () => {
    const joined = [
      { name: "node", count: 1n, objects: [pod("n1")] },
      { name: "owner", notPermitted: true },
    ];
    const client = clientOf({
      list: () => ({ resource: podResource, objects: [{ ...pod("a"), joined }, pod("b")] }),
    });
    const { objects } = await client.list("pods", { joins }).all();
    const [a, b] = objects;
    const { node, owner } = a?.joined ?? {};
    assert.deepEqual([node?.count, node?.permitted], [1, true]);
    assert.equal(node?.objects[0]?.value.metadata.name, "n1");
    assert.deepEqual(owner, { count: 0, objects: [], permitted: false });
    assert.deepEqual(b?.joined, {});
  });
});
