import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { PageObjects } from "../src/pageobjects.js";
import { EventSchema, EventType } from "../src/proto.js";
import { pod, podResource } from "./fixture.js";
import { eventsBetween, ModelSelection, randomOf, type ModelEvent } from "./pagemodel.js";

function apply(page: PageObjects<unknown>, ...events: ModelEvent[]): void {
  for (const event of events) page.apply(create(EventSchema, event), podResource);
}

const added = (name: string, index: number, version = "1"): ModelEvent => ({
  type: EventType.ADDED,
  object: pod(name, version),
  index,
});
const moved = (name: string, index: number): ModelEvent => ({
  type: EventType.MOVED,
  object: { ...pod(name), content: { case: undefined } },
  index,
});
const deleted = (index: number): ModelEvent => ({ type: EventType.DELETED, index });
const reset: ModelEvent = { type: EventType.RESET };

function pageOf(...names: string[]): PageObjects<unknown> {
  const page = new PageObjects();
  apply(page, reset, ...names.map((name, index) => added(name, index)));
  page.commit();
  return page;
}

suite("PageObjects", () => {
  for (let seed = 1; seed <= 20; seed++) {
    test(`has the objects of the model in order, and keeps those that stay (seed ${seed})`, () => {
      const random = randomOf(seed);
      const selection = new ModelSelection(random);
      const page = new PageObjects();
      let before = selection.page(0, 0);
      for (let step = 0; step < 200; step++) {
        for (let changes = random(5); changes > 0; changes--) selection.change();
        const after = selection.page(random(4) === 0 ? random(20) : 0, 5 + random(10));
        const earlier = new Map(page.commit().map((object) => [object.uid, object]));
        const isReset = random(20) === 0;
        apply(
          page,
          ...(isReset ? [reset, ...eventsBetween([], after)] : eventsBetween(before, after)),
        );
        const now = page.commit();
        assert.deepEqual(
          now.map(({ uid, resourceVersion }) => [uid, resourceVersion]),
          after.map(({ uid, version }) => [uid, `${version}`]),
        );
        for (const object of now) {
          const same = earlier.get(object.uid);
          if (same?.resourceVersion === object.resourceVersion) assert.equal(object, same);
        }
        before = after;
      }
    });
  }

  test("shows changes only when they are complete, and can discard them", () => {
    const page = pageOf("a", "b");
    const shown = page.commit();
    apply(page, deleted(0), added("c", 1));
    assert.equal(page.incomplete, true);
    page.revert();
    assert.equal(page.incomplete, false);
    assert.equal(page.commit(), shown);
  });

  test("returns the same list if a snapshot has changed nothing", () => {
    const page = pageOf("a", "b");
    const shown = page.commit();
    apply(page, reset, added("a", 0), added("b", 1));
    assert.equal(page.commit(), shown);
  });

  test("has the new state of an object that was changed, and of one that is added again", () => {
    const page = pageOf("a", "b");
    const modified = { type: EventType.MODIFIED, object: pod("b", "2"), index: 0 };
    apply(page, modified, added("a", 0, "3"));
    const versions = page.commit().map(({ name, resourceVersion }) => [name, resourceVersion]);
    assert.deepEqual(versions, [
      ["a", "3"],
      ["b", "2"],
    ]);
  });

  test("ignores events that do not change the page", () => {
    const page = pageOf("a");
    const unspecified = { type: EventType.UNSPECIFIED, object: pod("a") };
    apply(page, unspecified, { type: EventType.BOOKMARK }, { type: EventType.SYNCED });
    assert.equal(page.incomplete, false);
  });

  for (const { name, event } of [
    { name: "a move of an unknown object", event: moved("stranger", 0) },
    { name: "an index beyond the end", event: added("b", 2) },
    { name: "a deletion beyond the end", event: deleted(1) },
  ]) {
    test(`rejects ${name}`, () => {
      const page = pageOf("a");
      assert.throws(
        () => {
          apply(page, event);
        },
        { code: Code.DataLoss },
      );
    });
  }
});
