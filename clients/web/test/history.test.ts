import { expect, test } from "vitest";
import { changesBetween } from "../src/history/diff.js";
import { pathsOf } from "../src/model/managed.js";
import {
  revisionMoments,
  revisionOf,
  seenMoment,
  timelineOf,
  writeMoments,
} from "../src/history/timeline.js";

function template(image: string) {
  return {
    metadata: { labels: { "pod-template-hash": image } },
    spec: { containers: [{ name: "app", image }] },
  };
}

test("differences are listed by field, and elements of lists by name", () => {
  const before = { spec: { replicas: 1, list: [{ name: "a", x: 1 }, { name: "b" }], args: ["x"] } };
  const after = {
    spec: { replicas: 2, list: [{ name: "b" }, { name: "a", x: 2 }], args: ["x", "y"] },
  };
  expect(changesBetween(before, after)).toEqual([
    { path: "spec.replicas", before: 1, after: 2 },
    { path: "spec.list[a].x", before: 1, after: 2 },
    { path: "spec.args[1]", before: undefined, after: "y" },
  ]);
});

test("fields that change with each write are no differences", () => {
  const before = { metadata: { resourceVersion: "1", managedFields: [], generation: 1 } };
  const after = { metadata: { resourceVersion: "2", managedFields: [{}], generation: 2 } };
  expect(changesBetween(before, after)).toEqual([]);
});

test("a revision has the differences to the one before it", () => {
  const revision = (number: number, image: string) => ({
    number,
    name: `web-${number}`,
    time: `2026-01-01T00:00:0${number}Z`,
    cause: undefined,
    template: template(image),
  });
  const moments = revisionMoments([revision(10, "c"), revision(9, "b"), revision(2, "a")]);
  expect(moments.map(({ title }) => title)).toEqual([
    "Revision 2: web-2",
    "Revision 9: web-9",
    "Revision 10 (current): web-10",
  ]);
  expect(moments[0]).not.toHaveProperty("changes");
  expect(moments[2]?.changes).toContainEqual({
    path: "spec.containers[app].image",
    before: "b",
    after: "c",
  });
});

test("replica sets and controller revisions store templates", () => {
  const annotations = { "deployment.kubernetes.io/revision": "3" };
  const set = { metadata: { annotations }, spec: { template: "t" } };
  expect(revisionOf({ name: "a", value: set })).toMatchObject({ number: 3, template: "t" });
  const stored = { metadata: {}, revision: 4, data: { spec: { template: "u" } } };
  expect(revisionOf({ name: "b", value: stored })).toMatchObject({ number: 4, template: "u" });
});

test("managed fields are read as paths", () => {
  expect(
    pathsOf({
      "f:metadata": { "f:labels": { ".": {}, "f:app": {} } },
      "f:spec": { "f:containers": { 'k:{"name":"app"}': { ".": {}, "f:image": {} } } },
    }),
  ).toEqual(["metadata.labels.app", "spec.containers[app].image"]);
});

test("a write has its manager and the number of its fields", () => {
  const entry = {
    manager: "kubectl",
    operation: "Apply",
    time: "T",
    fieldsV1: { "f:spec": { "f:replicas": {} } },
  };
  expect(writeMoments([entry, { manager: "timeless" }])).toMatchObject([
    { by: "kubectl", title: "Applied 1 field", paths: ["spec.replicas"] },
  ]);
});

test("a change that is seen live is shown with the manager of the newest write", () => {
  const managedFields = [
    { manager: "old", time: "2026-01-01T00:00:00Z" },
    { manager: "new", time: "2026-01-01T00:00:01Z" },
  ];
  const state = (replicas: number, resourceVersion: string) => ({
    resourceVersion,
    value: { metadata: { resourceVersion, managedFields }, spec: { replicas } },
  });
  const now = new Date("2026-01-01T00:00:02Z");
  expect(seenMoment(state(1, "1"), state(2, "2"), now)).toMatchObject({
    by: "new",
    title: "1 field changed",
    changes: [{ path: "spec.replicas", before: 1, after: 2 }],
  });
  expect(seenMoment(state(1, "1"), state(1, "2"), now)).toBeUndefined();
});

test("the timeline begins with the last moment", () => {
  const moment = (time: string) => ({ id: time, source: "event" as const, time, title: "" });
  const times = timelineOf(
    [moment("2026-01-01T00:00:01Z")],
    [moment("2026-01-01T00:00:03Z"), moment("")],
  );
  expect(times.map(({ time }) => time)).toEqual([
    "2026-01-01T00:00:03Z",
    "2026-01-01T00:00:01Z",
    "",
  ]);
});
