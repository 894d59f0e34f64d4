import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { KubeObject, LiveCollection, type Changes, type WatchEvent } from "../src/index.js";
import { ObjectSchema } from "../src/proto.js";
import { pod, podResource } from "./fixture.js";

function object(name: string, resourceVersion?: string, uid?: string): KubeObject {
  return new KubeObject(create(ObjectSchema, pod(name, resourceVersion, uid)), podResource);
}

function added(name: string, resourceVersion?: string, uid?: string): WatchEvent {
  return { type: "ADDED", object: object(name, resourceVersion, uid), resourceVersion: "7" };
}

/** Returns the deletion of an object as a resumed stream reports it. */
function deletedWithoutContent(name: string): WatchEvent {
  const head = create(ObjectSchema, { ...pod(name), content: { case: undefined } });
  const object = new KubeObject(head, podResource);
  return { type: "DELETED", object, resourceVersion: "8" };
}

function modified(name: string, resourceVersion: string): WatchEvent {
  return { type: "MODIFIED", object: object(name, resourceVersion), resourceVersion };
}

function deleted(name: string, uid?: string): WatchEvent {
  return { type: "DELETED", object: object(name, "1", uid), resourceVersion: "8" };
}

const reset: WatchEvent = { type: "RESET", resourceVersion: "" };
const synced: WatchEvent = { type: "SYNCED", resourceVersion: "9" };

function collectionOf(...names: string[]): LiveCollection {
  const collection = LiveCollection.ofObjects();
  collection.apply({ events: [reset, ...names.map((name) => added(name)), synced] });
  return collection;
}

function names(changes: Changes<KubeObject>): Record<keyof Changes<KubeObject>, string[]> {
  const sorted = (objects: readonly KubeObject[]): string[] =>
    objects.map(({ name }) => name).sort();
  const { added, modified, deleted } = changes;
  return { added: sorted(added), modified: sorted(modified), deleted: sorted(deleted) };
}

suite("LiveCollection", () => {
  for (const { uid, remains } of [
    { uid: "earlier", remains: true },
    { uid: "", remains: false },
    { uid: undefined, remains: false },
  ]) {
    test(`${remains ? "ignores" : "applies"} a deletion of the UID ${uid ?? "that it has"}`, () => {
      const collection = collectionOf("a");
      const changes = collection.apply({ events: [deleted("a", uid)] });
      assert.equal(collection.objects.size, remains ? 1 : 0);
      assert.deepEqual(names(changes).deleted, remains ? [] : ["a"]);
      collection.apply({ events: [reset, added("a"), deleted("a", uid), synced] });
      assert.equal(collection.objects.size, remains ? 1 : 0, "within a snapshot");
    });
  }

  test("is empty until the first snapshot is complete", () => {
    const collection = LiveCollection.ofObjects();
    collection.apply({ events: [reset, added("a")] });
    assert.equal(collection.synced, false);
    assert.equal(collection.objects.size, 0);
    assert.equal(collection.arriving, 1);
    const changes = collection.apply({ events: [added("b"), synced] });
    assert.equal(collection.synced, true);
    assert.equal(collection.resourceVersion, "9");
    assert.deepEqual([...collection.objects.keys()], ["default/a", "default/b"]);
    assert.deepEqual(names(changes).added, ["a", "b"]);
  });

  test("keeps its objects from RESET until SYNCED, then reports only the differences", () => {
    const collection = collectionOf("same", "newer", "gone");
    collection.apply({ events: [reset, added("same"), added("newer", "2")] });
    assert.equal(collection.objects.size, 3);
    const changes = collection.apply({ events: [added("fresh"), synced] });
    assert.deepEqual(names(changes), { added: ["fresh"], modified: ["newer"], deleted: ["gone"] });
  });

  test("drops an incomplete snapshot at the next RESET", () => {
    const collection = collectionOf("a");
    collection.apply({ events: [reset, added("half")] });
    collection.apply({ events: [reset, added("a"), synced] });
    assert.deepEqual([...collection.objects.keys()], ["default/a"]);
  });

  test("applies changes during a snapshot", () => {
    const collection = collectionOf("a", "b");
    collection.apply({ events: [reset, added("a"), added("b"), added("c")] });
    collection.apply({ events: [modified("a", "11"), deleted("b"), deleted("stranger")] });
    assert.equal(collection.arriving, 2);
    const changes = collection.apply({ events: [deleted("c"), added("c", "12"), synced] });
    assert.deepEqual(names(changes), { added: ["c"], modified: ["a"], deleted: ["b"] });
    assert.equal(collection.objects.get("default/a")?.resourceVersion, "11");
    assert.equal(collection.resourceVersion, "11");
  });

  test("decreases its version only with a snapshot", () => {
    const collection = collectionOf("a");
    const versions = [
      { ...deleted("a"), resourceVersion: "12" },
      { type: "BOOKMARK", resourceVersion: "11" } as const,
      { type: "BOOKMARK", resourceVersion: "100" } as const,
      reset,
      { type: "SYNCED", resourceVersion: "20" } as const,
    ].map((event) => {
      collection.apply({ events: [event] });
      return collection.resourceVersion;
    });
    assert.deepEqual(versions, ["12", "12", "100", "100", "20"]);
  });

  test("accepts versions that cannot be compared", () => {
    const collection = collectionOf("a");
    collection.apply({ events: [{ type: "BOOKMARK", resourceVersion: "b-2" }] });
    collection.apply({ events: [{ type: "BOOKMARK", resourceVersion: "a-3" }] });
    assert.equal(collection.resourceVersion, "a-3");
  });

  test("combines all events of a batch", () => {
    const collection = collectionOf("a");
    const changes = collection.apply({
      events: [added("brief"), deleted("brief"), added("a", "2"), added("a", "3")],
    });
    assert.deepEqual(names(changes), { added: [], modified: ["a"], deleted: [] });
    assert.equal(changes.modified[0]?.resourceVersion, "3");
  });

  test("distinguishes a recreated object from a changed one", () => {
    const collection = collectionOf("a");
    const changes = collection.apply({ events: [deleted("a"), added("a", "2", "another")] });
    assert.deepEqual(names(changes), { added: ["a"], modified: [], deleted: ["a"] });
  });

  test("ignores the deletion of an unknown object, without a call", () => {
    const collection = collectionOf("a");
    let calls = 0;
    collection.subscribe(() => calls++);
    collection.apply({ events: [deleted("stranger")] });
    collection.apply({ events: [{ type: "BOOKMARK", resourceVersion: "10" }] });
    assert.equal(calls, 0);
    assert.equal(collection.resourceVersion, "10");
  });

  test("continues with a resumed stream, which has no snapshot", () => {
    const collection = collectionOf("held", "same", "gone");
    const changes = collection.apply({
      events: [
        added("held", "2"),
        added("same"),
        deletedWithoutContent("gone"),
        deletedWithoutContent("stranger"),
        added("fresh"),
      ],
    });
    assert.deepEqual(names(changes), { added: ["fresh"], modified: ["held"], deleted: ["gone"] });
    assert.equal(changes.deleted[0]?.value.metadata.name, "gone");
    assert.equal(collection.synced, true);
    assert.equal(collection.resourceVersion, "9");
  });

  test("reports whether a snapshot is being received", () => {
    const collection = collectionOf("a");
    assert.equal(collection.resetting, false);
    collection.apply({ events: [reset] });
    assert.equal(collection.resetting, true);
    collection.apply({ events: [synced] });
    assert.equal(collection.resetting, false);
  });

  test("calls each subscriber once per batch, until it unsubscribes", () => {
    const collection = collectionOf();
    let calls = 0;
    const unsubscribe = collection.subscribe(() => calls++);
    collection.apply({ events: [added("a"), added("b")] });
    unsubscribe();
    collection.apply({ events: [added("c")] });
    assert.equal(calls, 1);
  });

  test("stores the projection of each object", () => {
    const collection = new LiveCollection(({ namespace, name, uid, resourceVersion }) => ({
      namespace,
      name,
      uid,
      resourceVersion,
      shout: name.toUpperCase(),
    }));
    collection.apply({ events: [reset, added("a"), synced] });
    assert.equal(collection.objects.get("default/a")?.shout, "A");
  });
});
