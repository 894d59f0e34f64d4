import type { ObjectGroup } from "@kubeconnect/client";
import { expect, test } from "vitest";
import { cacheState, cacheSummary } from "../src/overview/caches.js";
import { headline, type Findings } from "../src/overview/headline.js";
import { nodeLoads, problemsOf } from "../src/overview/nodes.js";
import { podReasons } from "../src/overview/pods.js";
import { groupWarnings, type EventFields } from "../src/overview/warnings.js";
import {
  readyText,
  recentChanges,
  workloadReason,
  type NewFields,
} from "../src/overview/workloads.js";

const well: Findings = {
  isComplete: true,
  readable: "all",
  isCurrent: true,
  workloads: 0,
  podsWithReason: 0,
  nodes: 0,
  pods: 16,
  allNodes: 1,
};

test.each<[Partial<Findings>, string]>([
  [{}, "All is well: 16 pods on 1 node."],
  [{ readable: "some", allNodes: undefined }, "What you may read is well: 16 pods."],
  [{ readable: "nothing" }, "You may not read what this page shows."],
  [{ isCurrent: false }, "All is well (as last seen): 16 pods on 1 node."],
  [{ isComplete: false }, "Reading the state of the cluster…"],
  [
    { workloads: 1, podsWithReason: 1200, nodes: 2 },
    "1 workload is not ready, 1,200 pods are failing, 2 nodes have problems.",
  ],
])("the headline of %o", (change, text) => {
  expect(headline({ ...well, ...change }).text).toBe(text);
});

test("a workload's reason is that of its most important condition", () => {
  const reason = (...conditions: [string, string, string][]) =>
    workloadReason({
      status: {
        conditions: conditions.map(([type, status, message]) => ({ type, status, message })),
      },
    });
  expect(reason(["Available", "False", "too few"], ["ReplicaFailure", "True", "quota"])).toBe(
    "quota",
  );
  expect(reason(["Available", "False", "too few"], ["Progressing", "True", ""])).toBe(
    "Rollout in progress",
  );
  expect(reason(["Progressing", "False", "deadline exceeded"])).toBe("deadline exceeded");
  expect(reason()).toBe("Some pods are not ready");
});

test("a finished rollout is not the reason", () => {
  const conditions = [
    { type: "Progressing", status: "True", reason: "NewReplicaSetAvailable" },
    { type: "Available", status: "False", reason: "MinimumReplicasUnavailable" },
  ];
  expect(workloadReason({ status: { conditions } })).toBe("MinimumReplicasUnavailable");
});

test("how much of a workload is ready is shown for each kind", () => {
  expect(readyText({ spec: { replicas: 3 }, status: { readyReplicas: 1 } })).toBe("1 of 3 ready");
  expect(readyText({ spec: { replicas: 3 } })).toBe("0 of 3 ready");
  expect(readyText({ status: { numberReady: 2, desiredNumberScheduled: 4 } })).toBe("2 of 4 ready");
  expect(readyText({ spec: { completions: 1 }, status: { failed: 2 } })).toBe("2 failed");
});

function object(kind: string, name: string, metadata: NonNullable<NewFields["metadata"]>) {
  const plural = `${kind.toLowerCase()}s`;
  const resource = { group: "apps", version: "v1", kind, plural, namespaced: true };
  return { resource, namespace: "a", name, value: { metadata } };
}

test("changes are new objects and rollouts of the last ten minutes, the newest first", () => {
  const at = (minute: number) => new Date(minute * 60_000).toISOString();
  const owner = [{ kind: "Deployment", name: "web" }];
  const revision = (number: string) => ({ "deployment.kubernetes.io/revision": number });
  const objects = [
    object("Deployment", "old", { creationTimestamp: at(1) }),
    object("Deployment", "new", { creationTimestamp: at(12) }),
    object("ReplicaSet", "web-1", {
      creationTimestamp: at(13),
      ownerReferences: owner,
      annotations: revision("1"),
    }),
    object("ReplicaSet", "web-2", {
      creationTimestamp: at(14),
      ownerReferences: owner,
      annotations: revision("2"),
    }),
  ];
  expect(
    recentChanges(objects, 15 * 60_000).map(({ text, resource, name }) => [text, resource, name]),
  ).toEqual([
    ["Rollout of revision 2", "deployments.apps", "web"],
    ["Deployment created", "deployments.apps", "new"],
  ]);
});

const group = (value: string | null, count: number, ...numbers: number[]): ObjectGroup => ({
  values: [value],
  count,
  aggregates: numbers.map((number) => ({ value: number })) as unknown as ObjectGroup["aggregates"],
});

test("pods fail for reasons that are not usual, the most frequent first", () => {
  const waiting = [group(null, 9), group("ContainerCreating", 4), group("CrashLoopBackOff", 2)];
  const conditions = [group("Unschedulable", 3), group("ContainersNotReady", 5)];
  expect(podReasons(waiting, [group("Evicted", 1)], conditions)).toEqual([
    { name: "Unschedulable", count: 3 },
    { name: "CrashLoopBackOff", count: 2 },
    { name: "Evicted", count: 1 },
  ]);
});

test("nodes are ordered by what is requested of them, also those without pods", () => {
  const loads = nodeLoads(
    [group("a", 1, 8, 100), group("b", 1, 8, 100)],
    [group("b", 5, 2, 90), group(null, 1, 4, 4)],
  );
  expect(loads.map(({ name, pods, cpu, memory }) => [name, pods, cpu, memory])).toEqual([
    ["b", 5, 2, 90],
    ["a", 0, 0, 0],
  ]);
});

test("the problems of a node are shown in words", () => {
  const conditions = [
    { type: "Ready", status: "Unknown" },
    { type: "MemoryPressure", status: "True" },
    { type: "DiskPressure", status: "False" },
    { type: "PIDPressure", status: "True" },
  ];
  expect(problemsOf({ spec: { unschedulable: true }, status: { conditions } })).toEqual([
    "not ready",
    "memory pressure",
    "PIDPressure",
    "cordoned",
  ]);
});

test("warnings are grouped by reason and kind, with the last message", () => {
  const event = (value: EventFields) => ({ value });
  const about = (kind: string, name: string) => ({ involvedObject: { kind, name } });
  const groups = groupWarnings([
    event({
      ...about("Pod", "a"),
      reason: "BackOff",
      count: 3,
      lastTimestamp: "2026-01-01T00:00:01Z",
      message: "first",
    }),
    event({
      ...about("Pod", "b"),
      reason: "BackOff",
      lastTimestamp: null,
      eventTime: "2026-01-01T00:00:03.5Z",
      message: "second",
    }),
    event({ ...about("Node", "n"), reason: "BackOff", lastTimestamp: "2026-01-01T00:00:02Z" }),
  ]);
  expect(
    groups.map(({ kind, count, objects, message, last }) => [
      kind,
      count,
      objects,
      message,
      last.name,
    ]),
  ).toEqual([
    ["Pod", 4, 2, "second", "b"],
    ["Node", 1, 1, "", "n"],
  ]);
});

test("the state of a cache is a word, and that of all a sentence", () => {
  const cache = {
    running: true,
    synced: true,
    objectCount: 1500,
    sizeBytes: 2048,
    resourceVersion: "1",
    freshness: undefined,
  };
  const stale = { stale: true, lastContactTime: undefined };
  expect(cacheState(cache).text).toBe("Current");
  expect(cacheState({ ...cache, freshness: stale }).text).toBe("Stale");
  expect(cacheState({ ...cache, synced: false, freshness: stale }).text).toBe("Filling");
  const type = {} as Parameters<typeof cacheSummary>[0][number]["type"];
  expect(cacheSummary([{ type, cache }])).toBe("1 cache with 1,500 objects, 2 Ki.");
  expect(cacheSummary([])).toContain("No cache");
});
