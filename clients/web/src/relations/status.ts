import type { KubeValue } from "@kubeconnect/client";
import { podStatus, podStatusPaths } from "../model/podstatus.js";
import type { Tone } from "../model/tone.js";

/** What a node of the graph says about its object. */
export interface NodeStatus {
  readonly tone: Tone;
  readonly text: string;
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason?: string;
}

interface StatusValue {
  readonly metadata?: { readonly deletionTimestamp?: string };
  readonly spec?: { readonly replicas?: number; readonly type?: string };
  readonly status?: {
    readonly phase?: string;
    readonly conditions?: readonly Condition[];
    readonly readyReplicas?: number;
    readonly numberReady?: number;
    readonly desiredNumberScheduled?: number;
    readonly succeeded?: number;
    readonly failed?: number;
    readonly active?: number;
    readonly currentReplicas?: number;
    readonly currentHealthy?: number;
    readonly desiredHealthy?: number;
  };
}

/** The paths that `statusOf` reads. */
export const statusFields = [
  ...podStatusPaths,
  "spec.replicas",
  "spec.type",
  "status.readyReplicas",
  "status.numberReady",
  "status.desiredNumberScheduled",
  "status.succeeded",
  "status.failed",
  "status.active",
  "status.currentReplicas",
  "status.currentHealthy",
  "status.desiredHealthy",
];

const none: NodeStatus = { tone: "neutral", text: "" };

/** Returns the state of an object in a word or two. */
export function statusOf(kind: string, value: unknown): NodeStatus {
  const object = value as StatusValue;
  const { status = {} } = object;
  if (object.metadata?.deletionTimestamp) return { tone: "warn", text: "being deleted" };
  switch (kind) {
    case "Pod":
      return podState(value as KubeValue);
    case "Deployment":
    case "StatefulSet":
    case "ReplicaSet":
    case "ReplicationController":
      return readyStatus(status.readyReplicas ?? 0, object.spec?.replicas ?? 1);
    case "DaemonSet":
      return readyStatus(status.numberReady ?? 0, status.desiredNumberScheduled ?? 0);
    case "PodDisruptionBudget":
      return readyStatus(status.currentHealthy ?? 0, status.desiredHealthy ?? 0, "healthy");
    case "HorizontalPodAutoscaler":
      return { tone: "neutral", text: `${status.currentReplicas ?? 0} replicas` };
    case "Job":
      return jobStatus(status);
    case "Service":
      return { tone: "neutral", text: object.spec?.type ?? "" };
    default:
      return otherStatus(status);
  }
}

/** A pod has the same status as in tables. */
function podState(pod: KubeValue): NodeStatus {
  const { status, tone } = podStatus(pod);
  return { tone, text: status };
}

function readyStatus(ready: number, wanted: number, word = "ready"): NodeStatus {
  if (wanted === 0 && ready === 0) return { tone: "neutral", text: `0 ${word}` };
  const tone = ready >= wanted ? "ok" : ready === 0 ? "bad" : "warn";
  return { tone, text: `${ready}/${wanted} ${word}` };
}

function jobStatus({
  conditions = [],
  active = 0,
}: NonNullable<StatusValue["status"]>): NodeStatus {
  const isTrue = (type: string) =>
    conditions.some((condition) => condition.type === type && condition.status === "True");
  if (isTrue("Failed")) return { tone: "bad", text: "Failed" };
  if (isTrue("Complete")) return { tone: "ok", text: "Complete" };
  return { tone: "info", text: `${active} active` };
}

function otherStatus({ phase, conditions = [] }: NonNullable<StatusValue["status"]>): NodeStatus {
  const main = conditions.find(({ type }) => type === "Ready" || type === "Available");
  if (main) {
    const isWell = main.status === "True";
    return { tone: isWell ? "ok" : "bad", text: isWell ? main.type : `not ${main.type}` };
  }
  if (!phase) return none;
  const isWell = phase === "Bound" || phase === "Active" || phase === "Available";
  return { tone: isWell ? "ok" : phase === "Pending" ? "warn" : "neutral", text: phase };
}
