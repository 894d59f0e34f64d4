import type { KubeValue } from "@kubeconnect/client";
import { describe, expect, test } from "vitest";
import { conditionTone, summarizeConditions } from "../src/model/summary/conditions.js";
import { summarizeCronJob, summarizeJob } from "../src/model/summary/job.js";
import { summarizeNode } from "../src/model/summary/node.js";
import { summarizePod } from "../src/model/summary/pod.js";
import { summarizeService } from "../src/model/summary/service.js";
import { summarizeClaim } from "../src/model/summary/storage.js";
import { summarizeWorkload } from "../src/model/summary/workload.js";

const at = "2026-11-23T20:00:00Z";

function value(kind: string, fields: object): KubeValue {
  const metadata = {
    name: "web",
    namespace: "shop",
    uid: "1",
    resourceVersion: "1",
    creationTimestamp: at,
  };
  return { apiVersion: "v1", kind, metadata, ...fields };
}

function condition(type: string, status: string, reason = "", message = "") {
  return { type, status, reason, message, lastTransitionTime: at };
}

/** A scheduled pod with one container in a state. */
function pod(status: object, spec: object = {}): KubeValue {
  return value("Pod", {
    spec: { nodeName: "node-1", containers: [{ name: "app", image: "app:1" }], ...spec },
    status: { phase: "Running", conditions: [condition("Ready", "False")], ...status },
  });
}

function container(state: object, more: object = {}) {
  return { name: "app", image: "app:1", ready: false, restartCount: 0, state, ...more };
}

describe("summarizePod", () => {
  test("a ready pod has no problems", () => {
    const running = container({ running: { startedAt: at } }, { ready: true });
    const { status, findings } = summarizePod(
      pod({ conditions: [condition("Ready", "True")], containerStatuses: [running] }),
    );
    expect(status).toEqual({ text: "Running", tone: "ok" });
    expect(findings).toEqual([]);
  });

  test("a ready pod that was killed for its memory has that reason", () => {
    const oom = { terminated: { exitCode: 137, reason: "OOMKilled", finishedAt: at } };
    const running = container({ running: {} }, { ready: true, restartCount: 3, lastState: oom });
    const { findings } = summarizePod(
      pod({ conditions: [condition("Ready", "True")], containerStatuses: [running] }),
    );
    expect(findings[0]?.title).toBe(
      "The container app was restarted 3 times; it last ran out of memory",
    );
  });

  test.each([
    {
      name: "a crash loop has the end of the last run",
      status: container(
        { waiting: { reason: "CrashLoopBackOff", message: "back-off 5m0s" } },
        { restartCount: 7, lastState: { terminated: { exitCode: 1, reason: "Error" } } },
      ),
      title: "The container app keeps crashing: it ended with exit code 1",
      advice: "Read the log of its last run.",
    },
    {
      name: "a crash loop for lack of memory advises more memory",
      status: container(
        { waiting: { reason: "CrashLoopBackOff" } },
        { lastState: { terminated: { exitCode: 137, reason: "OOMKilled" } } },
      ),
      title: "The container app keeps crashing: it ended with exit code 137 (OOMKilled)",
      advice: "It used more memory than its limit. Raise the limit, or use less memory.",
    },
    {
      name: "an image that cannot be pulled is named",
      status: container({ waiting: { reason: "ImagePullBackOff", message: "not found" } }),
      title: "The image of the container app cannot be pulled: app:1",
      advice: "Check the image's name and tag, and the pull secrets of the pod.",
    },
    {
      name: "a missing config map is a missing configuration",
      status: container({ waiting: { reason: "CreateContainerConfigError" } }),
      title: "The configuration of the container app is incomplete",
      advice: "A config map, a secret, or a key that it uses does not exist.",
    },
    {
      name: "a container that has not started up differs from one that is not ready",
      status: container({ running: {} }, { started: false }),
      title: "The container app has not passed its startup probe yet",
      advice: undefined,
    },
  ])("$name", ({ status, title, advice }) => {
    const { findings } = summarizePod(pod({ containerStatuses: [status] }));
    expect(findings[0]).toMatchObject({ title, ...(advice && { advice }) });
  });

  test("a pod that no node can run has the scheduler's message", () => {
    const message = "0/3 nodes are available: 3 Insufficient cpu.";
    const { findings, status } = summarizePod(
      pod({
        phase: "Pending",
        conditions: [condition("PodScheduled", "False", "Unschedulable", message)],
      }),
    );
    expect(status).toEqual({ text: "Pending", tone: "warn" });
    expect(findings[0]).toMatchObject({
      title: "No node can run the pod",
      detail: message,
      advice: "Lower its requests, or add a node with enough free resources.",
    });
  });

  test("a failing init container is named as such", () => {
    const failing = container({ waiting: { reason: "CrashLoopBackOff" } }, { name: "migrate" });
    const { status, findings } = summarizePod(
      pod({ phase: "Pending", initContainerStatuses: [failing] }),
    );
    expect(status.text).toBe("Init: CrashLoopBackOff");
    expect(findings[0]?.title).toBe("The init container migrate keeps crashing");
  });

  test("a volume waits for a claim that is pending, or does not exist", () => {
    const volume = (name: string) => ({ name, persistentVolumeClaim: { claimName: name } });
    const claims = [value("PersistentVolumeClaim", { status: { phase: "Pending" } })];
    const { findings } = summarizePod(
      pod({ phase: "Pending" }, { volumes: [volume("web"), volume("gone"), { name: "tmp" }] }),
      { claims },
    );
    expect(findings.map(({ title }) => title)).toEqual([
      "The volume web waits: its claim web is pending",
      "The volume gone needs the claim gone, which does not exist",
    ]);
  });

  test("failing probes are known from events", () => {
    const event = value("Event", {
      type: "Warning",
      reason: "Unhealthy",
      message: "Readiness probe failed: HTTP 503",
      count: 12,
      lastTimestamp: at,
    });
    const { findings } = summarizePod(
      pod({ containerStatuses: [container({ running: {} }, { started: true })] }),
      { warnings: [event] },
    );
    expect(findings.map(({ title }) => title)).toContain("Readiness probe failed 12 times");
  });

  test("a readiness gate and a node under pressure are reasons", () => {
    const node = value("Node", { status: { conditions: [condition("MemoryPressure", "True")] } });
    const { findings } = summarizePod(
      pod({}, { readinessGates: [{ conditionType: "lb.example.com/ready" }] }),
      { node },
    );
    expect(findings.map(({ title }) => title)).toEqual([
      "The readiness gate lb.example.com/ready is not met",
      "Its node: The node is short of memory, and evicts pods",
    ]);
  });
});

describe("summarizeWorkload", () => {
  const deployment = (status: object, spec: object = {}): KubeValue =>
    value("Deployment", { spec: { replicas: 3, ...spec }, status });
  const well = { replicas: 3, readyReplicas: 3, updatedReplicas: 3 };

  test.each([
    { name: "all ready", status: well, spec: {}, text: "Available", tone: "ok" },
    {
      name: "an old pod remains",
      status: { ...well, replicas: 4 },
      spec: {},
      text: "Rolling out",
      tone: "info",
    },
    {
      name: "not all ready",
      status: { ...well, readyReplicas: 1 },
      spec: {},
      text: "1 of 3 ready",
      tone: "warn",
    },
    { name: "paused", status: well, spec: { paused: true }, text: "Paused", tone: "warn" },
    {
      name: "without replicas",
      status: {},
      spec: { replicas: 0 },
      text: "Scaled to zero",
      tone: "neutral",
    },
  ])("$name: $text", ({ status, spec, text, tone }) => {
    expect(summarizeWorkload(deployment(status, spec)).status).toEqual({ text, tone });
  });

  test("a quota that a replica set has met is reported before the deployment has it", () => {
    const message = 'pods "web-1" is forbidden: exceeded quota: q';
    const replicaSet = value("ReplicaSet", {
      status: { conditions: [condition("ReplicaFailure", "True", "FailedCreate", message)] },
    });
    const summary = summarizeWorkload(deployment({ ...well, readyReplicas: 0 }), {
      replicaSets: [replicaSet],
    });
    expect(summary.status).toEqual({ text: "Unavailable", tone: "bad" });
    expect(summary.findings[0]).toMatchObject({
      title: "No pod can be created: a quota is used up",
      detail: message,
      about: { resource: "replicasets.apps", name: "web" },
    });
  });

  test("pods that fail for the same reason are reported once", () => {
    const failing = pod({
      containerStatuses: [container({ waiting: { reason: "ImagePullBackOff" } })],
    });
    const { findings } = summarizeWorkload(deployment({ ...well, readyReplicas: 1 }), {
      failingPods: [failing, failing],
    });
    expect(findings.map(({ title }) => title)).toEqual([
      "A pod is not ready. The image of the container app cannot be pulled: app:1 (and 1 other pod)",
    ]);
  });

  test("a daemon set counts its nodes", () => {
    const status = {
      desiredNumberScheduled: 5,
      currentNumberScheduled: 5,
      numberReady: 5,
      updatedNumberScheduled: 5,
    };
    expect(summarizeWorkload(value("DaemonSet", { status })).status.text).toBe("Available");
  });
});

describe("other kinds", () => {
  test("a node that does not report is not ready", () => {
    const node = value("Node", {
      status: {
        conditions: [condition("Ready", "Unknown", "NodeStatusUnknown", "Kubelet stopped posting")],
      },
    });
    const { status, findings } = summarizeNode(node);
    expect(status.text).toBe("Not ready");
    expect(findings[0]?.title).toBe("The node does not report any more");
  });

  test("a cordoned node says so, and its own taints, but not those of Kubernetes", () => {
    const taints = [
      { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" },
      { key: "gpu", value: "yes", effect: "NoSchedule" },
    ];
    const { status, findings } = summarizeNode(
      value("Node", {
        spec: { unschedulable: true, taints },
        status: { conditions: [condition("Ready", "True")] },
      }),
    );
    expect(status.text).toBe("Cordoned");
    expect(findings.map(({ title }) => title)).toEqual([
      "The node is cordoned: no new pods are scheduled on it",
      "Tainted gpu=yes: only pods that tolerate it are scheduled here",
    ]);
  });

  test("a service without endpoints names its selector", () => {
    const service = value("Service", { spec: { selector: { app: "web" } } });
    const { status, findings } = summarizeService(service, { endpointSlices: [] });
    expect(status).toEqual({ text: "No endpoints", tone: "bad" });
    expect(findings[0]?.title).toBe("No pod has the labels of its selector: app=web");
  });

  test("a service counts the endpoints of all slices; without a condition one is ready", () => {
    const slices = [
      { conditions: { ready: false } },
      { conditions: {} },
      { conditions: { ready: true } },
    ].map((endpoint) => value("EndpointSlice", { endpoints: [endpoint] }));
    const { status } = summarizeService(value("Service", {}), { endpointSlices: slices });
    expect(status).toEqual({ text: "2 endpoints ready", tone: "warn" });
  });

  test("a pending claim has the provisioner's reason", () => {
    const event = value("Event", {
      reason: "ProvisioningFailed",
      message: "no space",
      lastTimestamp: at,
    });
    const { findings } = summarizeClaim(
      value("PersistentVolumeClaim", { status: { phase: "Pending" } }),
      {
        warnings: [event],
      },
    );
    expect(findings[0]).toMatchObject({
      title: "No volume could be provisioned",
      detail: "no space",
    });
  });

  test("a failed job has its reason", () => {
    const job = value("Job", {
      status: { failed: 7, conditions: [condition("Failed", "True", "BackoffLimitExceeded")] },
    });
    const { status, findings } = summarizeJob(job);
    expect(status.text).toBe("Failed");
    expect(findings[0]?.title).toBe(
      "The job failed: its pods failed as often as its backoff limit allows",
    );
  });

  test("a cron job whose last job has not succeeded says so", () => {
    const status = {
      lastScheduleTime: "2026-11-23T03:00:00Z",
      lastSuccessfulTime: "2026-11-22T03:00:05Z",
    };
    const { findings } = summarizeCronJob(
      value("CronJob", { spec: { schedule: "0 3 * * *" }, status }),
    );
    expect(findings[0]?.title).toBe("Its last job has not succeeded");
  });

  test("conditions of unknown kinds are judged by their names", () => {
    expect(conditionTone(condition("DiskPressure", "False"))).toBe("ok");
    expect(conditionTone(condition("Degraded", "True"))).toBe("bad");
    expect(conditionTone(condition("Synced", "Unknown"))).toBe("warn");
    const backup = value("Backup", {
      status: { conditions: [condition("Ready", "False", "NoSpace", "full")] },
    });
    expect(summarizeConditions(backup)).toMatchObject({
      status: { text: "NoSpace", tone: "bad" },
      findings: [{ title: "Ready is False: NoSpace", detail: "full" }],
    });
  });
});
