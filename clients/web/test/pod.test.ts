import assert from "node:assert/strict";
import { suite, test } from "node:test";
import {
  podFields,
  summarize,
  type ContainerStatus,
  type Pod,
  type PodSummary,
} from "../src/pod.js";

type State = NonNullable<ContainerStatus["state"]>;

const running: State = { running: {} };
const waiting = (reason: string): State => ({ waiting: { reason } });
const terminated = (reason: string, exitCode = 0, signal = 0): State => ({
  terminated: { reason, exitCode, signal },
});

function status(name: string, state: State, more: Partial<ContainerStatus> = {}): ContainerStatus {
  return { name, state, ready: state === running, restartCount: 0, ...more };
}

/** Returns a pod with one container for each status. */
function pod(phase: string, containers: ContainerStatus[] = [], more: Partial<Pod> = {}): Pod {
  return {
    metadata: {},
    ...more,
    spec: { containers: containers.length > 0 ? containers : [{}], ...more.spec },
    status: { phase, containerStatuses: containers, ...more.status },
  };
}

const deleted = { metadata: { deletionTimestamp: "2025-01-01T00:00:00Z" } };
const ready = { conditions: [{ type: "Ready", status: "True" }] };
const initialized = { conditions: [{ type: "Initialized", status: "True" }] };

const cases: Record<string, [Pod, Partial<PodSummary>]> = {
  "a running pod": [
    pod("Running", [status("a", running), status("b", running, { restartCount: 3 })]),
    { ready: 2, containers: 2, status: "Running", restarts: 3 },
  ],
  "a pod without a node": [pod("Pending"), { ready: 0, containers: 1, status: "Pending" }],
  "a pod with a scheduling gate": [
    pod("Pending", [], {
      status: {
        phase: "Pending",
        conditions: [{ type: "PodScheduled", status: "False", reason: "SchedulingGated" }],
      },
    }),
    { status: "SchedulingGated" },
  ],
  "a pod that was evicted": [
    pod("Failed", [], { status: { phase: "Failed", reason: "Evicted" } }),
    { status: "Evicted" },
  ],
  "a waiting container": [
    pod("Running", [status("a", waiting("CrashLoopBackOff"), { restartCount: 7 })]),
    { ready: 0, status: "CrashLoopBackOff", restarts: 7 },
  ],
  "the first of several containers with problems": [
    pod("Running", [
      status("a", running),
      status("b", waiting("ImagePullBackOff")),
      status("c", terminated("Error", 1)),
    ]),
    { ready: 1, containers: 3, status: "ImagePullBackOff" },
  ],
  "a job's pod that is done": [
    pod("Succeeded", [status("a", terminated("Completed"))]),
    { ready: 0, status: "Completed" },
  ],
  "a container that ended without a reason": [
    pod("Failed", [status("a", terminated("", 137))]),
    { status: "ExitCode:137" },
  ],
  "a container that a signal ended": [
    pod("Failed", [status("a", terminated("", 137, 9))]),
    { status: "Signal:9" },
  ],
  "a completed and a running container, ready": [
    pod("Running", [status("a", terminated("Completed")), status("b", running)], {
      status: {
        ...ready,
        containerStatuses: [status("a", terminated("Completed")), status("b", running)],
      },
    }),
    { ready: 1, status: "Running" },
  ],
  "a completed and a running container, not ready": [
    pod("Running", [status("a", terminated("Completed")), status("b", running)]),
    { ready: 1, status: "NotReady" },
  ],
  "a pod that is being deleted": [
    pod("Running", [status("a", running)], deleted),
    { ready: 1, status: "Terminating" },
  ],
  "a finished pod that is being deleted": [
    pod("Succeeded", [status("a", terminated("Completed"))], deleted),
    { status: "Completed" },
  ],
  "a pod on a lost node that is being deleted": [
    pod("Running", [], { ...deleted, status: { phase: "Running", reason: "NodeLost" } }),
    { status: "Unknown" },
  ],
  "the second of three init containers running": [
    pod("Pending", [], {
      spec: { containers: [{}], initContainers: [{ name: "a" }, { name: "b" }, { name: "c" }] },
      status: {
        phase: "Pending",
        initContainerStatuses: [
          status("a", terminated("Completed"), { restartCount: 1 }),
          status("b", running),
          status("c", waiting("PodInitializing"), { restartCount: 5 }),
        ],
      },
    }),
    { ready: 0, containers: 1, status: "Init:1/3", restarts: 1 },
  ],
  "an init container that fails": [
    pod("Pending", [], {
      spec: { containers: [{}], initContainers: [{ name: "a" }] },
      status: { phase: "Pending", initContainerStatuses: [status("a", terminated("", 2))] },
    }),
    { status: "Init:ExitCode:2" },
  ],
  "an init container that crashes repeatedly": [
    pod("Pending", [], {
      spec: { containers: [{}], initContainers: [{ name: "a" }] },
      status: {
        phase: "Pending",
        initContainerStatuses: [status("a", waiting("CrashLoopBackOff"))],
      },
    }),
    { status: "Init:CrashLoopBackOff" },
  ],
  "a sidecar and a container": [
    pod("Running", [status("main", running, { restartCount: 1 })], {
      spec: { initContainers: [{ name: "proxy", restartPolicy: "Always" }, { name: "setup" }] },
      status: {
        containerStatuses: [status("main", running, { restartCount: 1 })],
        initContainerStatuses: [
          status("proxy", running, { started: true, restartCount: 2 }),
          status("setup", terminated("Completed"), { restartCount: 4 }),
        ],
      },
    }),
    { ready: 2, containers: 2, restarts: 3 },
  ],
  "a sidecar that crashes after the pod has started": [
    pod("Running", [status("main", running)], {
      spec: { initContainers: [{ name: "proxy", restartPolicy: "Always" }] },
      status: {
        phase: "Running",
        ...initialized,
        containerStatuses: [status("main", running)],
        initContainerStatuses: [status("proxy", waiting("CrashLoopBackOff"), { restartCount: 6 })],
      },
    }),
    { ready: 1, containers: 2, status: "Init:CrashLoopBackOff", restarts: 6 },
  ],
};

/** Returns the projection of a value to these paths, as the service sends it. */
function cut(value: unknown, paths: string[][]): unknown {
  if (paths.some((path) => path.length === 0)) return value;
  if (Array.isArray(value)) return value.map((element) => cut(element, below(paths, "*")));
  const entries = Object.entries(value as object).flatMap(([key, field]) => {
    const rest = below(paths, key);
    return rest.length > 0 ? [[key, cut(field, rest)] as const] : [];
  });
  return Object.fromEntries(entries);
}

/** Returns the rest of the paths that begin with this step. */
function below(paths: string[][], step: string): string[][] {
  return paths.filter(([first]) => first === step).map(([, ...rest]) => rest);
}

suite("the summary of", () => {
  for (const [name, [subject, expected]] of Object.entries(cases)) {
    test(name, () => {
      const summary = summarize(subject);
      assert.deepEqual({ ...summary, ...expected }, summary);
      const paths = podFields.map((path) => path.replaceAll("[*]", ".*").split("."));
      assert.deepEqual(summarize(cut(subject, paths) as Pod), summary);
    });
  }
});
