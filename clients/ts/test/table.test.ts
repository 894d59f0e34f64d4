import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { create, fromJson } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { GetTableRequestSchema, type GetTableRequest } from "../src/proto.js";
import { clientOf, podResource } from "./fixture.js";

const columns = [
  { name: "Name", type: "string", format: "name", description: "its name" },
  { name: "Restarts", type: "integer", priority: 1 },
];

function row(name: string) {
  const cells = [fromJson(ValueSchema, name), fromJson(ValueSchema, 2)];
  return { cells, namespace: "a", name, uid: `uid-${name}`, resourceVersion: "7" };
}

suite("table", () => {
  const requests: GetTableRequest[] = [];
  const client = clientOf({
    getTable(request) {
      requests.push(request);
      const head = { resource: podResource, columns, resourceVersion: "9", warnings: ["old"] };
      return request.pageToken === ""
        ? { ...head, rows: [row("x"), row("y")], nextPageToken: "2", remainingItemCount: 1n }
        : { ...head, rows: [row("z")] };
    },
  });

  test("iterates over the rows of all pages", async () => {
    const names: string[] = [];
    for await (const { name } of client.table("pods")) names.push(name);
    assert.deepEqual(names, ["x", "y", "z"]);
  });

  test("returns the pages of the service", async () => {
    const pages: [number, number][] = [];
    for await (const page of client.table("pods").pages()) {
      pages.push([page.rows.length, page.remaining]);
    }
    assert.deepEqual(pages, [
      [2, 1],
      [1, 0],
    ]);
  });

  test("collects everything with its columns", async () => {
    const all = await client.table("pods").all();
    assert.deepEqual(
      all.columns.map(({ name, type, format, priority }) => [name, type, format, priority]),
      [
        ["Name", "string", "name", 0],
        ["Restarts", "integer", "", 1],
      ],
    );
    assert.equal(all.rows.length, 3);
    assert.deepEqual(all.rows[0], {
      cells: ["x", 2],
      namespace: "a",
      name: "x",
      uid: "uid-x",
      resourceVersion: "7",
    });
    assert.deepEqual([all.resource.kind, all.resourceVersion, all.warnings], ["Pod", "9", ["old"]]);
  });

  test("sends the same selection for each page", async () => {
    requests.length = 0;
    const selection = { namespace: "a", name: "b", labelSelector: "c=d", fieldSelector: "e=f" };
    await client.table("po", { ...selection, pageSize: 2 }).all();
    const want = { ...selection, resource: "po", pageSize: 2 };
    assert.deepEqual(requests, [
      create(GetTableRequestSchema, want),
      create(GetTableRequestSchema, { ...want, pageToken: "2" }),
    ]);
  });
});
