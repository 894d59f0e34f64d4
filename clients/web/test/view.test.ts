import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { KubeObject } from "@kubeconnect/client";
import { ObjectSchema, StatusSchema } from "@kubeconnect/client/proto";
import { podRow } from "../src/row.js";
import { arrange, namespaces, type View } from "../src/view.js";
import { podResource, row } from "./fixture.js";

const web = row("shop", "web", {
  metadata: {
    creationTimestamp: "2025-01-02T00:00:00Z",
    labels: { "app.kubernetes.io/name": "Web" },
  },
  spec: { nodeName: "n1", containers: [{}] },
  status: {
    phase: "Running",
    containerStatuses: [{ name: "a", ready: true, state: { running: {} } }],
  },
});
const db = row("shop", "db", {
  metadata: { creationTimestamp: "2025-01-01T00:00:00Z" },
  spec: { nodeName: "n2", containers: [{}] },
  status: {
    phase: "Running",
    containerStatuses: [
      { name: "a", restartCount: 4, state: { waiting: { reason: "CrashLoopBackOff" } } },
    ],
  },
});
const dns = row("kube-system", "dns", {
  metadata: { creationTimestamp: "2025-01-03T00:00:00Z" },
  status: { phase: "Pending" },
});
const all = [web, db, dns];
const everything: View = { filter: "", namespace: "", sort: "namespace", descending: false };

function shown(view: Partial<View>): string[] {
  return arrange(all, { ...everything, ...view }).map(({ name }) => name);
}

suite("a view", () => {
  test("shows everything, by namespace and name", () => {
    assert.deepEqual(shown({}), ["dns", "db", "web"]);
  });
  test("shows one namespace", () => {
    assert.deepEqual(shown({ namespace: "shop" }), ["db", "web"]);
  });
  test("finds words in any case, anywhere in a row, in any order", () => {
    assert.deepEqual(shown({ filter: " N2  crashloop " }), ["db"]);
    assert.deepEqual(shown({ filter: "kubernetes.io/name=web" }), ["web"]);
    assert.deepEqual(shown({ filter: "shop nowhere" }), []);
  });
  test("sorts by the chosen column, in both directions", () => {
    assert.deepEqual(shown({ sort: "restarts", descending: true }), ["db", "dns", "web"]);
    assert.deepEqual(shown({ sort: "age" }), ["dns", "web", "db"]);
    assert.deepEqual(shown({ sort: "age", descending: true }), ["db", "web", "dns"]);
    assert.deepEqual(shown({ sort: "ready" }), ["db", "dns", "web"]);
    assert.deepEqual(shown({ sort: "node" }), ["dns", "web", "db"]);
  });
});

test("the namespaces are counted, in order", () => {
  assert.deepEqual(namespaces(all), [
    ["kube-system", 1],
    ["shop", 2],
  ]);
});

suite("a row", () => {
  test("has the tone of its status", () => {
    assert.deepEqual(
      all.map(({ tone }) => tone),
      ["good", "bad", "busy"],
    );
  });
  test("shows the labels of users before those of controllers", () => {
    const labels = { "controller-revision-hash": "x", tier: "a", app: "b" };
    assert.deepEqual(
      row("shop", "web", { metadata: { labels } }).labels.map(([key]) => key),
      ["app", "tier", "controller-revision-hash"],
    );
  });
  test("exists even if the pod cannot be read", () => {
    const value = create(StatusSchema, { message: "unreadable" });
    const object = create(ObjectSchema, { name: "odd", content: { case: "error", value } });
    assert.equal(podRow(new KubeObject(object, podResource)).status, "Unreadable");
  });
});
