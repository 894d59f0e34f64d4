// @vitest-environment happy-dom
import { KubeconnectError } from "@kubeconnect/client";
import { expect, test } from "vitest";
import { Replica } from "../src/session/replica.js";
import { breadcrumbs } from "../src/model/breadcrumbs.js";
import { healthDetail, healthOf, healthText, type StreamState } from "../src/model/connection.js";
import { formatBytes, formatCpu, formatShare } from "../src/model/quantity.js";
import { actionLabel } from "../src/palette/actions.js";
import { namesFilter, objectSearch } from "../src/palette/search.js";
import { recentEntry, recentText } from "../src/palette/recent.js";
import { sectionsFor, type Entry } from "../src/palette/entries.js";

const since = new Date(2026, 0, 1, 8, 30);
const live: StreamState = {
  connection: { state: "connected", since },
  freshness: { stale: false, lastContactTime: since },
  loaded: true,
  error: undefined,
  retryAt: undefined,
  isSignedOut: false,
  isPaused: false,
};
const error = KubeconnectError.unavailable("down");

test.each<[string, Partial<StreamState>, string]>([
  ["messages arrive", {}, "Live"],
  ["nothing was received", { connection: undefined }, "Connecting"],
  ["the snapshot is not complete", { loaded: false }, "Catching up"],
  [
    "the API server is unreachable",
    { freshness: { stale: true, lastContactTime: since } },
    "Stale since",
  ],
  [
    "the service is unreachable",
    { connection: { state: "lost", since, error } },
    "Disconnected since",
  ],
  ["the stream was rejected", { error }, "No live data"],
  ["the tab was hidden", { isPaused: true, connection: { state: "lost", since, error } }, "Paused"],
  ["the token has expired", { isSignedOut: true, isPaused: true }, "Signed out"],
])("when %s the state is shown", (_when, change, text) => {
  expect(healthText(healthOf({ ...live, ...change }))).toContain(text);
});

test("the detail of a lost connection counts down to the next attempt", () => {
  const health = healthOf({ ...live, connection: { state: "lost", since, error }, retryAt: 5_000 });
  expect(healthDetail(health, 2_500)).toContain("Retrying in 3 s.");
  expect(healthDetail(health, 6_000)).toContain("Retrying now.");
});

test("a live page names the replica, and the one before it", () => {
  const moved = { is: "live", replica: "pod-b-2", previous: "pod-a-1" } as const;
  expect(healthText(moved)).toBe("Live, replica changed");
  expect(healthDetail(moved, 0)).toContain("Served by pod-b-2, before by pod-a-1.");
  expect(healthText({ is: "live", replica: "pod-b-2" })).toBe("Live");
});

test("the replica is that of the last opened stream", async () => {
  const replica = new Replica();
  const seen: (string | undefined)[] = [];
  replica.subscribe(() => seen.push(replica.name()));
  const respond = (stream: boolean, name?: string) =>
    replica.observe(() =>
      Promise.resolve({
        stream,
        header: new Headers(name === undefined ? {} : { "kubeconnect-replica": name }),
      } as never),
    )({} as never);
  await respond(true, "pod-a");
  await respond(false, "pod-b"); // another call, which any replica may serve
  await respond(true);
  await respond(true, "pod-a");
  await respond(true, "pod-b");
  expect(seen).toEqual(["pod-a", "pod-b"]);
});

test("breadcrumbs lead from the table to the object", () => {
  const label = (resource: string) => resource.toUpperCase();
  expect(breadcrumbs("/", label)).toEqual([{ label: "Overview" }]);
  expect(breadcrumbs("/r/pods", label)).toEqual([{ label: "PODS" }]);
  expect(breadcrumbs("/o/pods/shop/web%2F1", label)).toEqual([
    { label: "PODS", href: "/r/pods" },
    { label: "shop", href: "/r/pods?ns=shop" },
    { label: "web/1" },
  ]);
  expect(breadcrumbs("/o/nodes/-/node-1", label)).toEqual([
    { label: "NODES", href: "/r/nodes" },
    { label: "node-1" },
  ]);
  expect(breadcrumbs("/o/pods/a/%E0%A4%A", label).at(-1)).toEqual({ label: "%E0%A4%A" });
  expect(breadcrumbs("/x", label)).toEqual([{ label: "Not found" }]);
});

test("quantities have few digits", () => {
  expect([0, 0.25, 0.0001, 1.5, 12.34, 1000].map(formatCpu)).toEqual([
    "0",
    "250m",
    "1m",
    "1.5",
    "12.3",
    "1,000",
  ]);
  expect([0, 1023, 1536, 4 * 2 ** 40].map(formatBytes)).toEqual([
    "0 B",
    "1,023 B",
    "1.5 Ki",
    "4 Ti",
  ]);
  expect([formatShare(1, 1000), formatShare(1, 2), formatShare(0, 5), formatShare(1, 0)]).toEqual([
    "<1%",
    "50%",
    "0%",
    "",
  ]);
});

const pods = {
  resource: { group: "", version: "v1", kind: "Pod", plural: "pods", namespaced: true },
  versions: ["v1"],
  singular: "pod",
  shortNames: ["po"],
  categories: [],
  verbs: ["list", "watch"],
  subresources: [],
  cache: undefined,
};
const backups = {
  ...pods,
  resource: { ...pods.resource, group: "example.com", kind: "Backup", plural: "backups" },
  singular: "backup",
  shortNames: [],
};

test("a type before a space is searched alone", () => {
  const types = [pods, backups];
  expect(objectSearch("backup nightly", types)).toEqual({ types: [backups], words: ["nightly"] });
  expect(objectSearch("po web 1", types)).toEqual({ types: [pods], words: ["web", "1"] });
  expect(objectSearch("backup", types)).toEqual({ types: [pods], words: ["backup"] });
  expect(objectSearch(" ", types)).toBeUndefined();
});

test("what is typed is a text of the filter, and no code", () => {
  expect(namesFilter(["web", "a"])).toBe(
    'object.metadata.name.contains("web") && object.metadata.name.contains("a")',
  );
  expect(namesFilter(['") || true || ("'])).toBe(
    'object.metadata.name.contains("\\") || true || (\\"")',
  );
});

const entry = (label: string, href: string): Entry => ({
  id: href,
  label,
  hint: "",
  texts: [label],
  does: { href },
});

test("the palette shows what matches, and recent entries without a text", () => {
  const offer = {
    recent: [entry("web-1", "/o/pods/a/web-1")],
    types: [entry("Pods", "/r/pods"), entry("Nodes", "/r/nodes")],
    namespaces: [entry("platform", "?ns=platform")],
    actions: [entry("Dark theme", "dark")],
    objects: [entry("x-pod", "/o/pods/a/x-pod"), entry("pod", "/o/pods/a/pod")],
  };
  const titles = (text: string) =>
    sectionsFor(text, offer).map(({ title, entries }) => [title, ...entries.map((e) => e.label)]);
  expect(titles("")).toEqual([
    ["Recent", "web-1"],
    ["Actions", "Dark theme"],
    ["Types", "Pods", "Nodes"],
  ]);
  expect(titles("pod")).toEqual([
    ["Types", "Pods"],
    ["Objects", "pod", "x-pod"],
  ]);
  const resources = [entry("HorizontalPodAutoscalers", "/r/hpa"), entry("Deployments", "/r/d")];
  const actions = [entry("Scale web…", "scale"), entry("Delete web…", "delete")];
  const chosen = (text: string) =>
    sectionsFor(text, { ...offer, types: resources, actions, objects: [] })[0]?.entries[0]?.label;
  expect(chosen("scale")).toBe("Scale web…");
  expect(chosen("de")).toBe("Deployments");
});

test("an action of the palette has the name of its object", () => {
  expect(actionLabel("Scale…", "web")).toBe("Scale web…");
  expect(actionLabel("Cordon", "node-1")).toBe("Cordon node-1");
});

test("recent entries are read back, unless they lead elsewhere", () => {
  const web = { ...entry("web", "/r/pods"), id: "recent /r/pods" };
  expect(recentEntry(recentText(web) ?? "")).toEqual(web);
  expect(recentText({ ...web, does: { action: () => undefined } })).toBeUndefined();
  expect(recentEntry('["//evil.example/","x",""]')).toBeUndefined();
  expect(recentEntry('["javascript:alert(1)","x",""]')).toBeUndefined();
  expect(recentEntry("{")).toBeUndefined();
});
