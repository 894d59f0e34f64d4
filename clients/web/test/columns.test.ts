import type { KubeValue } from "@kubeconnect/client";
import { describe, expect, it } from "vitest";
import {
  allColumns,
  kindColumns,
  ownColumn,
  plainColumns,
  requestedPaths,
  shownColumns,
} from "../src/model/columns/index.js";
import { printerColumns } from "../src/model/columns/printer.js";
import { podStatus } from "../src/model/podstatus.js";

const metadata = {
  name: "web-0",
  namespace: "shop",
  uid: "u",
  resourceVersion: "1",
  creationTimestamp: "2026-01-01T00:00:00Z",
};

function object(fields: Record<string, unknown>): KubeValue {
  return { apiVersion: "v1", kind: "Thing", metadata, ...fields };
}

/** Returns the cells of an object as "id=text tone". */
function cells(resource: string, fields: Record<string, unknown>): readonly string[] {
  const columns = kindColumns(resource)?.columns ?? [];
  return columns
    .filter(({ optional }) => !optional)
    .map((column) => {
      const { text, tone } = column.cell(object(fields));
      return `${column.id}=${text}${tone ? ` ${tone}` : ""}`;
    });
}

const running = { state: { running: { startedAt: "2026-01-01T00:00:01Z" } } };
const crashing = { state: { waiting: { reason: "CrashLoopBackOff" } } };
const ended = (exitCode: number, reason = "") => ({ state: { terminated: { exitCode, reason } } });

describe("podStatus", () => {
  const rows: readonly {
    name: string;
    pod: Record<string, unknown>;
    status: string;
    ready: string;
    restarts?: number;
  }[] = [
    {
      name: "is Running with all containers ready",
      pod: {
        spec: { containers: [{ name: "a" }] },
        status: {
          phase: "Running",
          containerStatuses: [{ ready: true, restartCount: 2, ...running }],
        },
      },
      status: "Running ok",
      ready: "1/1",
      restarts: 2,
    },
    {
      name: "needs attention while a container is not ready",
      pod: {
        spec: { containers: [{ name: "a" }] },
        status: { phase: "Running", containerStatuses: [{ ready: false, ...running }] },
      },
      status: "Running warn",
      ready: "0/1",
    },
    {
      name: "has the reason of a waiting container",
      pod: {
        spec: { containers: [{ name: "a" }, { name: "b" }] },
        status: {
          phase: "Running",
          containerStatuses: [
            { ready: true, ...running },
            { restartCount: 7, ...crashing },
          ],
        },
      },
      status: "CrashLoopBackOff bad",
      ready: "1/2",
      restarts: 7,
    },
    {
      name: "has the signal or exit code of an end without a reason",
      pod: {
        spec: { containers: [{ name: "a" }] },
        status: { phase: "Failed", containerStatuses: [ended(3)] },
      },
      status: "ExitCode:3 bad",
      ready: "0/1",
    },
    {
      name: "counts init containers that have ended",
      pod: {
        spec: { containers: [{ name: "a" }], initContainers: [{ name: "x" }, { name: "y" }] },
        status: {
          phase: "Pending",
          initContainerStatuses: [
            { name: "x", ...ended(0, "Completed") },
            { name: "y", ...running },
          ],
        },
      },
      status: "Init:1/2 warn",
      ready: "0/1",
    },
    {
      name: "has the reason of a failed init container",
      pod: {
        spec: { containers: [{ name: "a" }], initContainers: [{ name: "x" }] },
        status: {
          phase: "Pending",
          initContainerStatuses: [{ name: "x", restartCount: 4, ...crashing }],
        },
      },
      status: "Init:CrashLoopBackOff bad",
      ready: "0/1",
      restarts: 4,
    },
    {
      name: "counts a started sidecar as a container",
      pod: {
        spec: {
          containers: [{ name: "a" }],
          initContainers: [{ name: "proxy", restartPolicy: "Always" }],
        },
        status: {
          phase: "Running",
          initContainerStatuses: [{ name: "proxy", ready: true, started: true, ...running }],
          containerStatuses: [{ ready: true, ...running }],
        },
      },
      status: "Running ok",
      ready: "2/2",
    },
    {
      name: "is NotReady if one container has completed and another one still runs",
      pod: {
        spec: { containers: [{ name: "a" }, { name: "b" }] },
        status: {
          phase: "Running",
          containerStatuses: [ended(0, "Completed"), { ready: true, ...running }],
        },
      },
      status: "NotReady bad",
      ready: "1/2",
    },
    {
      name: "has the reason of the pod",
      pod: {
        spec: { containers: [{ name: "a" }] },
        status: { phase: "Failed", reason: "Evicted" },
      },
      status: "Evicted bad",
      ready: "0/1",
    },
    {
      name: "is Terminating while it is being deleted",
      pod: {
        metadata: { ...metadata, deletionTimestamp: "2026-01-01T00:01:00Z" },
        spec: { containers: [{ name: "a" }] },
        status: { phase: "Running" },
      },
      status: "Terminating info",
      ready: "0/1",
    },
    {
      name: "keeps the result of a pod that has ended, also while it is being deleted",
      pod: {
        metadata: { ...metadata, deletionTimestamp: "2026-01-01T00:01:00Z" },
        spec: { containers: [{ name: "a" }] },
        status: { phase: "Succeeded", containerStatuses: [ended(0, "Completed")] },
      },
      status: "Completed neutral",
      ready: "0/1",
    },
  ];
  it.each(rows)("$name", ({ pod, status, ready, restarts = 0 }) => {
    const found = podStatus(object(pod));
    expect(`${found.status} ${found.tone}`).toBe(status);
    expect(`${found.ready}/${found.containers}`).toBe(ready);
    expect(found.restarts).toBe(restarts);
  });
});

describe("kindColumns", () => {
  it("shows how many replicas of a deployment are ready", () => {
    const spec = { replicas: 3, template: { spec: { containers: [{ image: "web:1" }] } } };
    const status = { readyReplicas: 1, updatedReplicas: 2 };
    expect(cells("deployments.apps", { spec, status })).toEqual([
      "ready=1/3 warn",
      "updated=2",
      "available=0",
      "images=web:1",
      "age=2026-01-01T00:00:00Z",
    ]);
  });

  it("shows a deployment without a number of replicas as one that wants one", () => {
    expect(cells("deployments.apps", { spec: {}, status: {} })[0]).toBe("ready=0/1 bad");
  });

  it("shows jobs as kubectl does", () => {
    const spec = { completions: 2 };
    const conditions = [{ type: "Complete", status: "True" }];
    const times = { startTime: "2026-01-01T00:00:00Z", completionTime: "2026-01-01T00:03:00Z" };
    const status = { conditions, succeeded: 2, ...times };
    expect(cells("jobs.batch", { spec, status }).slice(0, 3)).toEqual([
      "status=Complete ok",
      "completions=2/2",
      "duration=3m",
    ]);
    expect(cells("jobs.batch", { spec, status: {} })[0]).toBe("status=Running info");
  });

  it("shows a load balancer that waits for its address", () => {
    const spec = {
      type: "LoadBalancer",
      clusterIP: "10.0.0.1",
      ports: [{ port: 80, nodePort: 30080 }],
    };
    expect(cells("services", { spec, status: { loadBalancer: {} } })).toEqual([
      "type=LoadBalancer",
      "clusterip=10.0.0.1",
      "external=Pending warn",
      "ports=80:30080/TCP",
      "age=2026-01-01T00:00:00Z",
    ]);
  });

  it("shows a cordoned node under pressure", () => {
    const conditions = [
      { type: "Ready", status: "True" },
      { type: "MemoryPressure", status: "True" },
    ];
    const node = { spec: { unschedulable: true }, status: { conditions } };
    expect(cells("nodes", node)[0]).toBe("status=Ready, SchedulingDisabled, MemoryPressure warn");
  });

  it("shows the metrics of an autoscaler", () => {
    const resource = (field: object) => ({ type: "Resource", resource: { name: "cpu", ...field } });
    const spec = {
      scaleTargetRef: { kind: "Deployment", name: "web" },
      metrics: [resource({ target: { averageUtilization: 80 } })],
      maxReplicas: 5,
    };
    const status = { currentMetrics: [resource({ current: { averageUtilization: 40 } })] };
    expect(cells("horizontalpodautoscalers.autoscaling", { spec, status }).slice(0, 3)).toEqual([
      "target=Deployment/web",
      "metrics=cpu: 40%/80%",
      "min=1",
    ]);
  });

  it("requests no values of secrets and config maps", () => {
    for (const resource of ["secrets", "configmaps"]) {
      const paths = requestedPaths(allColumns(kindColumns(resource)?.columns ?? [], true));
      expect(paths.filter((path) => /^(data|stringData|binaryData)/.test(path))).toEqual([]);
    }
  });

  it("has cells for objects without any of the fields", () => {
    const resources = [
      "pods",
      "jobs.batch",
      "cronjobs.batch",
      "daemonsets.apps",
      "events",
      "nodes",
    ];
    for (const resource of [...resources, "persistentvolumes", "poddisruptionbudgets.policy"]) {
      expect(cells(resource, {}).length).toBeGreaterThan(1);
    }
  });
});

describe("shownColumns", () => {
  const all = allColumns(plainColumns, true);
  const rows = [
    { name: "shows the default ones", cols: undefined, ids: ["name", "namespace", "age"] },
    { name: "always begins with the name", cols: "age", ids: ["name", "age"] },
    {
      name: "shows the user's own paths in their place",
      cols: "name,spec.nodeName,age,metadata.labels['app.kubernetes.io/name']",
      ids: ["name", "spec.nodeName", "age", "metadata.labels['app.kubernetes.io/name']"],
    },
    {
      name: "leaves out what is no path",
      cols: "a[0],b..c,labels,labels",
      ids: ["name", "labels"],
    },
  ];
  it.each(rows)("$name", ({ cols, ids }) => {
    expect(shownColumns(all, cols).map(({ id }) => id)).toEqual(ids);
  });

  it("shows all values of an own path", () => {
    const column = ownColumn("spec.containers[*].image");
    const spec = { containers: [{ image: "a:1" }, { image: "b:2" }] };
    expect(column?.cell(object({ spec })).text).toBe("a:1, b:2");
    expect(column?.sortPath).toBeUndefined();
  });
});

describe("printerColumns", () => {
  const definition = (...columns: object[]) =>
    object({ spec: { versions: [{ name: "v1", additionalPrinterColumns: columns }] } });

  it("reads the columns of the version, and adds the age", () => {
    const columns = printerColumns(
      definition(
        { name: "Schedule", type: "string", jsonPath: ".spec.schedule" },
        { name: "Copies", type: "integer", jsonPath: ".spec.copies", priority: 1 },
      ),
      "v1",
    );
    expect(columns.map(({ id, paths, optional }) => [id, paths, optional])).toEqual([
      ["schedule", ["spec.schedule"], false],
      ["copies", ["spec.copies"], true],
      ["age", ["metadata.creationTimestamp"], false],
    ]);
  });

  it("reads the status of a condition", () => {
    const path = '.status.conditions[?(@.type=="Ready")].status';
    const [column] = printerColumns(
      definition({ name: "Ready", type: "string", jsonPath: path }),
      "v1",
    );
    const conditions = [
      { type: "Synced", status: "False" },
      { type: "Ready", status: "True" },
    ];
    expect(column?.cell(object({ status: { conditions } })).text).toBe("True");
    expect(column?.cell(object({})).text).toBe("");
  });

  it("leaves out paths that the service cannot select", () => {
    const columns = printerColumns(
      definition({ name: "X", type: "string", jsonPath: ".a[0].b" }),
      "v1",
    );
    expect(columns.map(({ id }) => id)).toEqual(["age"]);
  });
});
