import { Code, type Client, type KubeObject, type KubeValue } from "@kubeconnect/client";
import { ConnectError } from "@connectrpc/connect";
import { describe, expect, test } from "vitest";
import { actionsOf } from "../src/actions/catalog.js";
import { jobOf } from "../src/actions/cronjob.js";
import { countDependents } from "../src/actions/delete.js";
import { drain, type DrainStep } from "../src/actions/drain.js";
import { planDrain } from "../src/actions/drainplan.js";
import { parseLabels } from "../src/actions/labels.js";
import { revisionsOf } from "../src/actions/rollback.js";
import { refusalOf } from "../src/model/refusal.js";
import { submit } from "../src/yaml/submit.js";

function value(fields: object, metadata: object = {}): KubeValue {
  const meta = {
    name: "web",
    namespace: "shop",
    uid: "1",
    resourceVersion: "1",
    creationTimestamp: "",
  };
  return { apiVersion: "v1", kind: "Pod", metadata: { ...meta, ...metadata }, ...fields };
}

/** Returns an object as the client returns it. */
function object(plural: string, group: string, of: KubeValue): KubeObject {
  const { name, namespace = "", uid, resourceVersion } = of.metadata;
  const resource = { plural, group, version: "v1", kind: of.kind, namespaced: true };
  const fields: unknown = { name, namespace, uid, resourceVersion, resource, value: of };
  return fields as KubeObject;
}

/** Returns a client that has only the given methods. */
function clientOf(methods: Record<string, unknown>): Client {
  return methods as unknown as Client;
}

describe("planDrain", () => {
  test.each([
    {
      name: "a pod of a replica set is evicted",
      pod: value({}, { ownerReferences: [{ kind: "ReplicaSet", controller: true }] }),
      fate: {},
    },
    {
      name: "a pod of a daemon set stays",
      pod: value({}, { ownerReferences: [{ kind: "DaemonSet", controller: true }] }),
      fate: { staysBecause: "its daemon set would start it again" },
    },
    {
      name: "a static pod stays",
      pod: value({}, { annotations: { "kubernetes.io/config.mirror": "1" } }),
      fate: { staysBecause: "the node itself runs it (a static pod)" },
    },
    {
      name: "a pod of its own with an emptyDir loses both",
      pod: value({ spec: { volumes: [{ emptyDir: {} }] } }),
      fate: {
        loss: "no controller will start it elsewhere, and the data in its emptyDir volumes is deleted",
      },
    },
    {
      name: "a pod that has ended loses nothing",
      pod: value({ status: { phase: "Succeeded" } }),
      fate: {},
    },
  ])("$name", ({ pod, fate }) => {
    expect(planDrain([pod])[0]).toEqual({ namespace: "shop", name: "web", uid: "1", ...fate });
  });
});

describe("drain", () => {
  const pods = ["a", "b"].map((name) => ({ namespace: "shop", name, uid: name }));

  /** A node with two pods, of which the budget allows one eviction at a time. */
  function node(refusals: number) {
    const calls: string[] = [];
    const present = new Map(pods.map((each) => [each.name, each]));
    let refused = 0;
    const client = clientOf({
      patch: (resource: string) => {
        calls.push(`patch ${resource}`);
        return Promise.resolve({});
      },
      create: (_resource: string, _body: object, { name, subresource }: Record<string, string>) => {
        calls.push(`${subresource ?? ""} ${name ?? ""}`);
        if (name === "b" && refused++ < refusals) {
          throw new ConnectError("the budget web needs 1 pod", Code.ResourceExhausted);
        }
        present.delete(name ?? "");
        return Promise.resolve({});
      },
      list: () => ({ all: () => Promise.resolve({ objects: [...present.values()] }) }),
    });
    return { client, calls };
  }

  async function steps(
    client: Client,
    sleep: () => Promise<void>,
    signal = new AbortController().signal,
  ) {
    const found: (readonly DrainStep[])[] = [];
    for await (const each of drain(client, "n", pods, { signal, sleep })) found.push(each);
    return found;
  }

  test("cordons first, tries a refused eviction again, and ends when all pods are gone", async () => {
    const { client, calls } = node(2);
    const waits: number[] = [];
    const all = await steps(client, ((ms: number) => {
      waits.push(ms);
      return Promise.resolve();
    }) as () => Promise<void>);
    expect(calls).toEqual(["patch nodes", "eviction a", "eviction b", "eviction b", "eviction b"]);
    expect(waits).toEqual([5000, 5000]);
    expect(all.flat().find(({ state }) => state === "blocked")?.message).toBe(
      "the budget web needs 1 pod",
    );
    expect(all.at(-1)?.map(({ state }) => state)).toEqual(["gone", "gone"]);
  });

  test("stops when it is aborted, and evicts no more", async () => {
    const { client, calls } = node(1);
    const leaving = new AbortController();
    const stopped = steps(
      client,
      () => {
        leaving.abort(new Error("stopped"));
        return Promise.resolve();
      },
      leaving.signal,
    );
    await expect(stopped).rejects.toThrow("stopped");
    expect(calls).toEqual(["patch nodes", "eviction a", "eviction b"]);
  });
});

describe("actionsOf", () => {
  const ids = (each: KubeObject) => actionsOf(each).map(({ id }) => id);

  test("offers what the kind and the state allow", () => {
    expect(ids(object("deployments", "apps", value({})))).toEqual([
      "scale",
      "restart",
      "rollback",
      "label",
      "delete",
    ]);
    expect(ids(object("nodes", "", value({ spec: { unschedulable: true } })))).toContain(
      "uncordon",
    );
    expect(ids(object("cronjobs", "batch", value({ spec: { suspend: true } })))).toContain(
      "resume",
    );
    expect(ids(object("configmaps", "", value({})))).toEqual(["label", "delete"]);
  });

  test("a refusal names the first permission that is missing", () => {
    const [scale] = actionsOf(object("deployments", "apps", value({})));
    const refusal = scale && refusalOf(scale.checks, [{ allowed: false, reason: "no role" }]);
    expect(refusal).toBe("You are not allowed to patch deployments.apps/scale in shop: no role");
    expect(scale && refusalOf(scale.checks, [{ allowed: true, reason: "" }])).toBeUndefined();
  });
});

test("countDependents reports what the caller may not count", async () => {
  const client = clientOf({
    count: (resource: string) => {
      if (resource === "pods") return Promise.reject(new ConnectError("no", Code.PermissionDenied));
      return Promise.resolve({ total: 2 });
    },
  });
  const target = { resource: "deployments.apps", namespace: "shop", name: "web" };
  expect(await countDependents(client, target)).toEqual([
    { resource: "replicasets.apps", count: 2 },
    { resource: "pods", count: undefined },
  ]);
});

test("revisionsOf sorts the replica sets, without the label of the controller", () => {
  const key = "deployment.kubernetes.io/revision";
  const replicaSet = (revision: string) =>
    value(
      { spec: { template: { metadata: { labels: { app: "web", "pod-template-hash": "x" } } } } },
      { name: `web-${revision}`, annotations: { [key]: revision } },
    );
  const found = revisionsOf(value({}, { annotations: { [key]: "10" } }), [
    replicaSet("9"),
    replicaSet("10"),
    value({ spec: {} }),
  ]);
  expect(found.map(({ number, isCurrent }) => [number, isCurrent])).toEqual([
    [10, true],
    [9, false],
  ]);
  expect(found[0]?.template).toEqual({ metadata: { labels: { app: "web" } } });
});

test("jobOf is owned by its cron job and has a name of at most 63 characters", () => {
  const cronJob = object(
    "cronjobs",
    "batch",
    value({ spec: { jobTemplate: { spec: { a: 1 } } } }, { name: "r".repeat(52) }),
  );
  const job = jobOf(cronJob, Date.UTC(2026, 10, 23)) as KubeValue;
  expect(job.metadata.name.length).toBeLessThanOrEqual(63);
  expect(job).toMatchObject({
    spec: { a: 1 },
    metadata: { ownerReferences: [{ kind: "CronJob", controller: true }] },
  });
});

test.each([
  {
    name: "set and removed",
    text: "app=web2\nnew=",
    changes: { app: "web2", new: "", tier: null },
  },
  { name: "unchanged", text: "app=web\ntier=front\n\n", changes: {} },
])("parseLabels: $name", ({ text, changes }) => {
  expect(parseLabels(text, { app: "web", tier: "front" }).changes).toEqual(changes);
});

test("parseLabels says what is not a label", () => {
  expect(parseLabels("a b=c", {}).problem).toBe('"a b" is not the name of a label');
  expect(parseLabels("a=c!", {}).problem).toBe('"c!" is not the value of a label');
});

describe("submit", () => {
  const base = object(
    "deployments",
    "apps",
    value({ spec: { replicas: 3 }, status: { ready: 1 } }),
  );
  const text =
    "metadata:\n  name: web\n  resourceVersion: '1'\nspec:\n  replicas: 5\nstatus:\n  ready: 1\n";

  /** A service at which the object has changed once. */
  function service(live: KubeValue) {
    const bodies: string[] = [];
    const client = clientOf({
      update: (_resource: string, body: string) => {
        bodies.push(body);
        if (bodies.length === 1) return Promise.reject(new ConnectError("changed", Code.Aborted));
        return Promise.resolve({ object: base, warnings: [] });
      },
      get: () => Promise.resolve(object("deployments", "apps", live)),
    });
    return { client, bodies };
  }

  test("takes over a change of the status, and writes again", async () => {
    const live = value({ spec: { replicas: 3 }, status: { ready: 2 } }, { resourceVersion: "2" });
    const { client, bodies } = service(live);
    expect((await submit(client, { base, text }, { dryRun: true })).is).toBe("accepted");
    expect(bodies[1]).toContain("ready: 2");
    expect(bodies[1]).toContain("replicas: 5");
  });

  test("writes nothing over others' changes of the specification", async () => {
    const live = value({ spec: { replicas: 9 }, status: { ready: 1 } }, { resourceVersion: "2" });
    const { client, bodies } = service(live);
    const outcome = await submit(client, { base, text }, { dryRun: false });
    expect(outcome).toMatchObject({ is: "diverged", divergence: { conflicts: [{ after: 9 }] } });
    expect(bodies).toHaveLength(1);
  });
});
