import type { KubeObject } from "@kubeconnect/client";

/** A condition of a workload. */
interface Condition {
  readonly type?: string;
  readonly status?: string;
  readonly reason?: string;
  readonly message?: string;
}

/** The fields of workloads that say whether they run as they should. */
export interface WorkloadFields {
  readonly spec?: { readonly replicas?: number; readonly completions?: number };
  readonly status?: {
    readonly readyReplicas?: number;
    readonly numberReady?: number;
    readonly desiredNumberScheduled?: number;
    readonly failed?: number;
    readonly succeeded?: number;
    readonly conditions?: readonly Condition[];
  };
}

/** A kind of workload, and which of its objects do not run as they should. */
export interface WorkloadKind {
  readonly resource: string;
  /** A CEL expression that selects those that do not. */
  readonly filter: string;
}

const fewReplicas =
  "object.spec.replicas > (has(object.status.readyReplicas) ? object.status.readyReplicas : 0)";

export const workloadKinds = {
  deployments: { resource: "deployments.apps", filter: fewReplicas },
  statefulSets: { resource: "statefulsets.apps", filter: fewReplicas },
  daemonSets: {
    resource: "daemonsets.apps",
    filter:
      "has(object.status.desiredNumberScheduled) && object.status.desiredNumberScheduled > " +
      "(has(object.status.numberReady) ? object.status.numberReady : 0)",
  },
  jobs: {
    resource: "jobs.batch",
    filter:
      "has(object.status.failed) && object.status.failed > 0 && !(has(object.status.conditions) " +
      "&& object.status.conditions.exists(c, c.type == 'Complete' && c.status == 'True'))",
  },
} as const satisfies Record<string, WorkloadKind>;

/** The fields to read of workloads. */
export const workloadFields = [
  "metadata.name",
  "spec.replicas",
  "spec.completions",
  "status.readyReplicas",
  "status.numberReady",
  "status.desiredNumberScheduled",
  "status.failed",
  "status.succeeded",
  "status.conditions[*].type",
  "status.conditions[*].status",
  "status.conditions[*].reason",
  "status.conditions[*].message",
];

/** Returns how much of a workload is ready: "1 of 3 ready". */
export function readyText({ spec, status }: WorkloadFields): string {
  if (status?.failed) return `${status.failed} failed`;
  const wanted = status?.desiredNumberScheduled ?? spec?.replicas ?? spec?.completions ?? 1;
  const ready = status?.readyReplicas ?? status?.numberReady ?? status?.succeeded ?? 0;
  return `${ready} of ${wanted} ready`;
}

/** The conditions that explain a workload, the most important one first, with their bad status. */
const explaining: readonly (readonly [string, string])[] = [
  ["Failed", "True"],
  ["ReplicaFailure", "True"],
  ["Progressing", "False"],
  ["Progressing", "True"],
  ["Available", "False"],
];

/** Returns why a workload does not run as it should, as far as its conditions show it. */
export function workloadReason({ status }: WorkloadFields): string {
  for (const [type, bad] of explaining) {
    const found = status?.conditions?.find((each) => each.type === type && each.status === bad);
    if (!found) continue;
    const isRollout = type === "Progressing" && bad === "True";
    if (isRollout && found.reason === "NewReplicaSetAvailable") continue;
    return isRollout ? "Rollout in progress" : found.message || found.reason || type;
  }
  return "Some pods are not ready";
}

/** The fields of a new object. */
export interface NewFields {
  readonly metadata?: {
    readonly creationTimestamp?: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly ownerReferences?: readonly { readonly kind: string; readonly name: string }[];
  };
}

/** Something that has changed: an object that was created, or a rollout. */
export interface Change {
  readonly at: string;
  readonly text: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
}

/** An object that may be new. */
export type NewObject = Pick<KubeObject<NewFields>, "resource" | "namespace" | "name" | "value">;

/** How long ago a change is still of interest. */
export const recentMs = 10 * 60_000;

/** Returns what the objects show of the time since `now - recentMs`, the newest first. */
export function recentChanges(objects: readonly NewObject[], now: number): readonly Change[] {
  return objects
    .flatMap((object) => changeOf(object) ?? [])
    .filter(({ at }) => now - Date.parse(at) < recentMs)
    .sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
}

/** A new replica set of a deployment is its rollout; one of the first revision adds nothing. */
function changeOf({
  resource: { kind, plural, group },
  namespace,
  name,
  value: { metadata },
}: NewObject): Change | undefined {
  const at = metadata?.creationTimestamp;
  if (!at) return undefined;
  const here = { at, namespace };
  if (kind !== "ReplicaSet") {
    return {
      ...here,
      text: `${kind} created`,
      resource: group ? `${plural}.${group}` : plural,
      name,
    };
  }
  const owner = metadata.ownerReferences?.find((each) => each.kind === "Deployment");
  const revision = metadata.annotations?.["deployment.kubernetes.io/revision"];
  if (!owner || revision === "1") return undefined;
  const text = revision ? `Rollout of revision ${revision}` : "Rollout";
  return { ...here, text, resource: "deployments.apps", name: owner.name };
}
