import type { KubeObject } from "@kubeconnect/client";
import { describe, expect, test } from "vitest";
import { buildGraph, questionsOf, type Answer, type Item } from "../src/relations/graph.js";
import { backendsOf, mostOfKind, type Kinds, type Question } from "../src/relations/questions.js";
import { referencesOf } from "../src/relations/references.js";
import { labelsMatch, selectorText, serviceSelects } from "../src/relations/selector.js";
import { statusOf } from "../src/relations/status.js";

function object(kind: string, name: string, value: object = {}, namespace = "n"): KubeObject {
  const group = ["Deployment", "ReplicaSet"].includes(kind) ? "apps" : "";
  const resource = { group, version: "v1", kind, plural: `${kind.toLowerCase()}s` };
  const identity = { namespace, name, uid: `uid-${name}` };
  return {
    ...identity,
    resource: { ...resource, namespaced: true },
    value: { metadata: {}, ...value },
  } as unknown as KubeObject;
}

function owner(kind: string, name: string) {
  return { apiVersion: "v1", kind, name, uid: `uid-${name}` };
}

const kinds: Kinds = (_, kind) => ({ resource: `${kind.toLowerCase()}s`, namespaced: true });

const selector = { matchLabels: { app: "web" } };
const template = {
  metadata: { labels: { app: "web" } },
  spec: {
    serviceAccountName: "shopper",
    containers: [{ envFrom: [{ configMapRef: { name: "settings" } }] }],
    volumes: [{ secret: { secretName: "tls", optional: true } }],
  },
};
const web = object("Deployment", "web", { metadata: {}, spec: { selector, template } });

function questionFor(root: KubeObject, kind: string): Question {
  const question = questionsOf(root, kinds, new Map()).find((each) => each.kind === kind);
  if (!question) throw new Error(`there is no question about ${kind}`);
  return question;
}

function answer(
  root: KubeObject,
  kind: string,
  items: readonly Item[],
  total = items.length,
): Answer {
  return { question: questionFor(root, kind), items, total };
}

describe("buildGraph", () => {
  test("leads from the ingress through the service and the deployment to its pods", () => {
    const set = object("ReplicaSet", "web-1", {
      metadata: { ownerReferences: [owner("Deployment", "web")] },
    });
    const pod = object("Pod", "web-1-a", {
      metadata: { ownerReferences: [owner("ReplicaSet", "web-1")] },
    });
    const service = object("Service", "web", { spec: { selector: { app: "web" } } });
    const other = object("Service", "other", { spec: { selector: { app: "other" } } });
    const rules = [{ http: { paths: [{ backend: { service: { name: "web" } } }] } }];
    const ingress = object("Ingress", "web", { spec: { rules } });
    const elsewhere = object("Ingress", "other", {
      spec: { rules: [{ http: { paths: [{ backend: { service: { name: "other" } } }] } }] },
    });
    const graph = buildGraph(web, [
      answer(web, "ReplicaSet", [set]),
      answer(web, "Pod", [pod]),
      answer(web, "Service", [service, other]),
      answer(web, "Ingress", [ingress, elsewhere]),
    ]);
    expect(new Set(graph.edges.map(({ from, to }) => `${from} > ${to}`))).toEqual(
      new Set([
        "Deployment/n/web > ReplicaSet/n/web-1",
        "ReplicaSet/n/web-1 > Pod/n/web-1-a",
        "Service/n/web > Deployment/n/web",
        "Ingress/n/web > Service/n/web",
      ]),
    );
    expect(graph.nodes).toHaveLength(5);
  });

  test("shows a bounded number of objects, and leads to the table with the rest", () => {
    const pods = Array.from({ length: mostOfKind }, (_, i) => object("Pod", `p${i}`));
    const { nodes } = buildGraph(web, [answer(web, "Pod", pods, 1000)]);
    expect(nodes).toHaveLength(1 + mostOfKind + 1);
    expect(nodes.at(-1)).toMatchObject({
      name: "and 970 more",
      table: { resource: "pods", search: { ns: "n", labels: "app=web" } },
    });
  });

  test("shows what a pod needs and does not exist", () => {
    const statuses = (items: readonly Item[] | undefined, kind: string, error?: string) => {
      const { nodes } = buildGraph(web, [
        { question: questionFor(web, kind), items, total: 0, error },
      ]);
      return nodes.slice(1).map(({ name, status }) => [name, status.tone, status.text]);
    };
    expect(statuses([], "ConfigMap")).toEqual([["settings", "bad", "does not exist"]]);
    expect(statuses([], "Secret")).toEqual([["tls", "neutral", "does not exist (optional)"]]);
    expect(statuses(undefined, "Secret", "forbidden")).toEqual([
      ["tls", "neutral", "cannot be read"],
    ]);
  });
});

describe("owners", () => {
  test("are followed upwards, and once if they own each other", () => {
    const pod = object("Pod", "p", { metadata: { ownerReferences: [owner("A", "a")] } });
    const a = object("A", "a", { metadata: { ownerReferences: [owner("B", "b")] } });
    const b = object("B", "b", {
      metadata: { ownerReferences: [owner("A", "a"), owner("Pod", "p")] },
    });
    const answers = new Map<string, Answer>();
    const ask = () => {
      const owners = questionsOf(pod, kinds, answers).filter(
        ({ relation }) => relation === "Owned by",
      );
      for (const question of owners) {
        const item = question.kind === "A" ? a : b;
        answers.set(question.id, { question, items: [item], total: 1 });
      }
      return owners.map(({ kind }) => kind);
    };
    expect(ask()).toEqual(["A"]);
    expect(ask()).toEqual(["A", "B"]);
    expect(ask()).toEqual(["A", "B"]);
    const { edges } = buildGraph(pod, [...answers.values()]);
    const arrows = edges.map(({ from, to }) => `${from} > ${to}`);
    expect(arrows).toContain("A/n/a > Pod/n/p");
    expect(arrows).toContain("B/n/b > A/n/a");
  });

  test("of an unknown kind are not asked for", () => {
    const pod = object("Pod", "p", { metadata: { ownerReferences: [owner("A", "a")] } });
    const relations = questionsOf(pod, () => undefined, new Map()).map(({ relation }) => relation);
    expect(relations).not.toContain("Owned by");
  });
});

test("a pod's references are found in volumes, variables and its account", () => {
  const found = referencesOf({
    serviceAccountName: "shopper",
    volumes: [
      { persistentVolumeClaim: { claimName: "data" } },
      {
        projected: {
          sources: [{ configMap: { name: "kube-root-ca.crt" } }, { secret: { name: "s" } }],
        },
      },
    ],
    containers: [{ env: [{ valueFrom: { secretKeyRef: { name: "key", optional: true } } }] }],
  });
  expect([...found].map(([resource, names]) => [resource, ...names.keys()])).toEqual([
    ["persistentvolumeclaims", "data"],
    ["secrets", "s", "key"],
    ["serviceaccounts", "shopper"],
  ]);
  expect(found.get("secrets")?.get("key")).toEqual({ use: "reads", optional: true });
});

test("selectors select as in the API", () => {
  expect(serviceSelects({}, { app: "web" })).toBe(false);
  expect(serviceSelects({ app: "web" }, { app: "web", x: "y" })).toBe(true);
  const expressions = [
    { key: "tier", operator: "NotIn", values: ["db"] },
    { key: "app", operator: "In", values: ["web", "api"] },
    { key: "old", operator: "DoesNotExist" },
  ];
  expect(labelsMatch({ matchExpressions: expressions }, { app: "api" })).toBe(true);
  expect(labelsMatch({ matchExpressions: expressions }, { app: "api", tier: "db" })).toBe(false);
  expect(selectorText({ ...selector, matchExpressions: expressions })).toBe(
    "app=web,tier notin (db),app in (web,api),!old",
  );
});

test("the backends of ingresses and routes are services", () => {
  expect(backendsOf({ spec: { defaultBackend: { service: { name: "a" } } } })).toEqual(["a"]);
  const backendRefs = [{ name: "b" }, { kind: "Bucket", name: "c" }];
  expect(backendsOf({ spec: { rules: [{ backendRefs }] } })).toEqual(["b"]);
});

function pod(container: object) {
  const spec = { containers: [{ name: "app" }] };
  return { metadata: {}, spec, status: { phase: "Running", containerStatuses: [container] } };
}

test.each([
  ["Pod", pod({ ready: true, state: { running: {} } }), "ok", "Running"],
  ["Pod", pod({ ready: false, state: { running: {} } }), "warn", "Running"],
  ["Pod", pod({ state: { waiting: { reason: "CrashLoopBackOff" } } }), "bad", "CrashLoopBackOff"],
  ["Deployment", { spec: { replicas: 3 }, status: { readyReplicas: 1 } }, "warn", "1/3 ready"],
  ["PersistentVolumeClaim", { status: { phase: "Pending" } }, "warn", "Pending"],
  ["Node", { status: { conditions: [{ type: "Ready", status: "False" }] } }, "bad", "not Ready"],
  ["Pod", { metadata: { deletionTimestamp: "T" } }, "warn", "being deleted"],
])("the status of a %s is shown in a word", (kind, value, tone, text) => {
  expect(statusOf(kind, value)).toEqual({ tone, text });
});
