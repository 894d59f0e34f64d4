import type { Tone } from "../model/tone.js";
import { anyOf, celString } from "./cel.js";

/** A value by which the objects of a kind can be filtered quickly. */
export interface FacetValue {
  readonly id: string;
  readonly label: string;
  readonly tone: Tone;
  /** The filter for the objects with this value. */
  readonly filter: string;
}

/** A way to divide the objects of a kind, by what the service counts live. */
export interface Facet {
  readonly title: string;
  /** The paths whose values are counted. */
  readonly groupBy: readonly string[];
  /** Returns the value of the objects of a group; undefined if the group is not offered. */
  readonly valueOf: (values: readonly unknown[]) => FacetValue | undefined;
  /** Returns the value with an id, for an address. */
  readonly byId: (id: string) => FacetValue;
}

/** A value with the number of its objects. */
export interface FacetCount extends FacetValue {
  readonly count: number;
}

interface Group {
  readonly values: readonly unknown[];
  readonly count: number;
}

/** Returns the values of a facet with their counts, the largest first, and those that are selected. */
export function facetCounts(
  facet: Facet,
  groups: readonly Group[],
  selected: readonly string[],
): readonly FacetCount[] {
  const counts = new Map<string, FacetCount>();
  for (const id of selected) counts.set(id, { ...facet.byId(id), count: 0 });
  for (const { values, count } of groups) {
    const value = facet.valueOf(values);
    if (!value) continue;
    counts.set(value.id, { ...value, count: count + (counts.get(value.id)?.count ?? 0) });
  }
  return [...counts.values()].sort((a, b) => b.count - a.count || (a.id < b.id ? -1 : 1));
}

/** Returns the filter for the objects that have one of the values; undefined without any. */
export function facetFilter(facet: Facet, ids: readonly string[]): string | undefined {
  return anyOf(ids.map((id) => facet.byId(id).filter));
}

/** The facet of a field that is a text. */
function textFacet(title: string, path: string, tones: Record<string, Tone> = {}): Facet {
  const byId = (id: string): FacetValue => ({
    id,
    label: id === none ? "None" : id,
    tone: tones[id] ?? "neutral",
    filter: id === none ? `!${has(path)}` : `${has(path)} && object.${path} == ${celString(id)}`,
  });
  const valueOf = ([value]: readonly unknown[]) =>
    value === null ? byId(none) : typeof value === "string" ? byId(value) : undefined;
  return { title, groupBy: [path], valueOf, byId };
}

const none = "-";

/** Returns the test that a path is in an object, with the objects that enclose it. */
function has(path: string): string {
  const fields = path.split(".");
  const tests = fields.map((_, index) => `has(object.${fields.slice(0, index + 1).join(".")})`);
  return tests.length > 1 ? `(${tests.join(" && ")})` : tests.join("");
}

/** The facet of one of several values, which are computed from numbers or booleans. */
function choiceFacet(
  title: string,
  groupBy: readonly string[],
  choose: (values: readonly unknown[]) => string | undefined,
  choices: readonly [FacetValue, ...FacetValue[]],
): Facet {
  const find = (id: string | undefined) => choices.find((choice) => choice.id === id);
  return {
    title,
    groupBy,
    valueOf: (values) => find(choose(values)),
    byId: (id) => find(id) ?? { id, label: id, tone: "neutral", filter: "false" },
  };
}

/** Returns the number at a path in CEL, with what it is if it is missing. */
function celNumber(path: string, missing: number): string {
  return `(${has(path)} ? object.${path} : ${missing})`;
}

/** The facet of workloads: whether all wanted replicas are ready. */
function readyFacet(wantedPath: string, missing: number, readyPath: string): Facet {
  const wanted = celNumber(wantedPath, missing);
  const ready = celNumber(readyPath, 0);
  return choiceFacet(
    "Replicas",
    [wantedPath, readyPath],
    ([wantedCount, readyCount]) => {
      const count = typeof wantedCount === "number" ? wantedCount : missing;
      if (count === 0) return "zero";
      return Number(readyCount ?? 0) >= count ? "ready" : "unready";
    },
    [
      {
        id: "unready",
        label: "Not all ready",
        tone: "bad",
        filter: `${wanted} != 0 && ${ready} < ${wanted}`,
      },
      {
        id: "ready",
        label: "Ready",
        tone: "ok",
        filter: `${wanted} != 0 && ${ready} >= ${wanted}`,
      },
      { id: "zero", label: "Scaled to zero", tone: "neutral", filter: `${wanted} == 0` },
    ],
  );
}

function flagFacet(title: string, path: string, on: [string, Tone], off: [string, Tone]): Facet {
  const isOn = `(${has(path)} ? object.${path} : false)`;
  return choiceFacet(title, [path], ([value]) => (value === true ? "on" : "off"), [
    { id: "on", label: on[0], tone: on[1], filter: isOn },
    { id: "off", label: off[0], tone: off[1], filter: `!${isOn}` },
  ]);
}

/** Returns the filter for a condition that is true. */
function isTrue(type: string): string {
  const test = `object.status.conditions.exists(c, c.type == ${celString(type)} && c.status == "True")`;
  return `${has("status.conditions")} && ${test}`;
}

const ended = `(${isTrue("Complete")}) || (${isTrue("Failed")}) || (${isTrue("Suspended")})`;

const jobFacet = choiceFacet(
  "Status",
  ["status.conditions[*].type"],
  ([type]) => (type === null ? "running" : stringId(type)),
  [
    { id: "failed", label: "Failed", tone: "bad", filter: isTrue("Failed") },
    { id: "running", label: "Running", tone: "info", filter: `!(${ended})` },
    { id: "complete", label: "Complete", tone: "ok", filter: isTrue("Complete") },
    { id: "suspended", label: "Suspended", tone: "neutral", filter: isTrue("Suspended") },
  ],
);

function stringId(value: unknown): string | undefined {
  return typeof value === "string" ? value.toLowerCase() : undefined;
}

const volumeTones: Record<string, Tone> = {
  Bound: "ok",
  Pending: "warn",
  Released: "warn",
  Lost: "bad",
  Failed: "bad",
};

const facets: Record<string, Facet> = {
  pods: textFacet("Phase", "status.phase", {
    Running: "ok",
    Pending: "warn",
    Failed: "bad",
    Unknown: "bad",
  }),
  "deployments.apps": readyFacet("spec.replicas", 1, "status.readyReplicas"),
  "statefulsets.apps": readyFacet("spec.replicas", 1, "status.readyReplicas"),
  "replicasets.apps": readyFacet("spec.replicas", 1, "status.readyReplicas"),
  "daemonsets.apps": readyFacet("status.desiredNumberScheduled", 0, "status.numberReady"),
  "jobs.batch": jobFacet,
  "cronjobs.batch": flagFacet("State", "spec.suspend", ["Suspended", "warn"], ["Active", "ok"]),
  services: textFacet("Type", "spec.type"),
  secrets: textFacet("Type", "type"),
  events: textFacet("Type", "type", { Warning: "warn" }),
  "events.events.k8s.io": textFacet("Type", "type", { Warning: "warn" }),
  nodes: flagFacet("Scheduling", "spec.unschedulable", ["Cordoned", "warn"], ["Schedulable", "ok"]),
  namespaces: textFacet("Phase", "status.phase", { Active: "ok", Terminating: "info" }),
  persistentvolumeclaims: textFacet("Phase", "status.phase", volumeTones),
  persistentvolumes: textFacet("Phase", "status.phase", volumeTones),
};

/** Returns the facet of a resource; undefined if it has none. */
export function facetOf(resource: string): Facet | undefined {
  return Object.hasOwn(facets, resource) ? facets[resource] : undefined;
}
