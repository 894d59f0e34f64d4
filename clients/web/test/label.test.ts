import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { isFulfilled, labelPatch } from "../src/labelpatch.js";
import { row } from "./fixture.js";

const labelled = row("shop", "web", { metadata: { labels: { app: "web", empty: "" } } }, "u1");

test("a patch has the label and the UID of the pod", () => {
  assert.deepEqual(labelPatch(labelled, { key: "a/b", value: null }), {
    type: "merge",
    body: { metadata: { uid: "u1", labels: { "a/b": null } } },
  });
});

suite("a label change", () => {
  test("is fulfilled when the label has the value", () => {
    assert.equal(isFulfilled(labelled, "u1", { key: "app", value: "web" }), true);
    assert.equal(isFulfilled(labelled, "u1", { key: "app", value: "db" }), false);
  });
  test("distinguishes an empty value from no label", () => {
    assert.equal(isFulfilled(labelled, "u1", { key: "empty", value: "" }), true);
    assert.equal(isFulfilled(labelled, "u1", { key: "empty", value: null }), false);
    assert.equal(isFulfilled(labelled, "u1", { key: "none", value: null }), true);
  });
  test("is fulfilled when the pod has left the table or was replaced", () => {
    assert.equal(isFulfilled(undefined, "u1", { key: "app", value: "db" }), true);
    assert.equal(isFulfilled(labelled, "u0", { key: "app", value: "db" }), true);
  });
});
