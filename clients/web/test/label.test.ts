import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { isFulfilled, labelPatch } from "../src/labelpatch.js";
import { row } from "./fixture.js";

const labelled = row("shop", "web", { metadata: { labels: { app: "web", empty: "" } } }, "u1");

test("a patch names the label, and the pod that is meant", () => {
  assert.deepEqual(labelPatch(labelled, { key: "a/b", value: null }), {
    type: "merge",
    body: { metadata: { uid: "u1", labels: { "a/b": null } } },
  });
});

suite("a wish", () => {
  test("has come true when the label has the value", () => {
    assert.equal(isFulfilled(labelled, "u1", { key: "app", value: "web" }), true);
    assert.equal(isFulfilled(labelled, "u1", { key: "app", value: "db" }), false);
  });
  test("tells an empty value from no label", () => {
    assert.equal(isFulfilled(labelled, "u1", { key: "empty", value: "" }), true);
    assert.equal(isFulfilled(labelled, "u1", { key: "empty", value: null }), false);
    assert.equal(isFulfilled(labelled, "u1", { key: "none", value: null }), true);
  });
  test("is not waited for when the pod has left the table or was replaced", () => {
    assert.equal(isFulfilled(undefined, "u1", { key: "app", value: "db" }), true);
    assert.equal(isFulfilled(labelled, "u0", { key: "app", value: "db" }), true);
  });
});
