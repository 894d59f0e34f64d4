import { Code, KubeconnectError } from "@kubeconnect/client";
import { isLabelName, isLabelValue } from "./labelsyntax.js";
import type { RowName } from "./rowselection.js";

/** Why an action on one object failed. */
export interface BulkFailure {
  readonly row: RowName;
  readonly message: string;
}

/** How far an action on several objects is. */
export interface BulkProgress {
  readonly done: readonly RowName[];
  readonly failures: readonly BulkFailure[];
}

const parallelCalls = 4;

/**
 * Applies an action to each row, a few at a time, and reports the progress after each of them. No
 * action begins after the signal has aborted. Returns the last progress.
 */
export async function runBulk(
  rows: readonly RowName[],
  action: (row: RowName) => Promise<unknown>,
  onProgress: (progress: BulkProgress) => void,
  signal: AbortSignal,
): Promise<BulkProgress> {
  let progress: BulkProgress = { done: [], failures: [] };
  const waiting = [...rows];
  const work = async () => {
    for (let row = waiting.shift(); row && !signal.aborted; row = waiting.shift()) {
      const failure = await failureOf(row, action);
      progress = failure
        ? { ...progress, failures: [...progress.failures, failure] }
        : { ...progress, done: [...progress.done, row] };
      onProgress(progress);
    }
  };
  await Promise.all(Array.from({ length: parallelCalls }, work));
  return progress;
}

async function failureOf(
  row: RowName,
  action: (row: RowName) => Promise<unknown>,
): Promise<BulkFailure | undefined> {
  try {
    await action(row);
    return undefined;
  } catch (error) {
    const { code, reason, message } = KubeconnectError.from(error);
    return { row, message: `${reason || Code[code]}: ${message}` };
  }
}

/**
 * Reads changes of labels in kubectl's notation: "app=web tier-" sets one and removes another one.
 * Returns undefined if a part is not valid.
 */
export function labelsOf(text: string): Record<string, string | null> | undefined {
  const parts = text.split(/[\s,]+/).filter(Boolean);
  const labels: Record<string, string | null> = {};
  for (const part of parts) {
    const [, key = "", value] = /^([^=]+?)(?:-|=(.*))$/.exec(part) ?? [];
    if (!isLabelName(key) || !isLabelValue(value ?? "")) return undefined;
    labels[key] = value ?? null;
  }
  return parts.length > 0 ? labels : undefined;
}

/** Returns what happens to other objects when objects of a resource are deleted. */
export function deletionConsequence(resource: string): string {
  return Object.hasOwn(consequences, resource)
    ? (consequences[resource] ?? "")
    : "Objects that they own are deleted, too. Finalizers can delay the deletion.";
}

const workload = "Their pods, and all other objects that they own, are deleted, too.";
const consequences: Record<string, string> = {
  pods: "They get their grace period to shut down. Their workloads, if any, create others.",
  "deployments.apps": workload,
  "statefulsets.apps": `${workload} The persistent volume claims remain by default.`,
  "daemonsets.apps": workload,
  "replicasets.apps": workload,
  "jobs.batch": workload,
  "cronjobs.batch": "Their jobs, and the pods of these, are deleted, too.",
  namespaces: "Everything in them is deleted, too. This cannot be undone.",
  nodes: "Only the objects: the machines continue to run, and their kubelets may register again.",
  persistentvolumeclaims:
    "Their volumes, with the data, are deleted if the reclaim policy is Delete. Claims in use remain until their pods have ended.",
  persistentvolumes: "Volumes that are bound remain until their claims are deleted.",
  "customresourcedefinitions.apiextensions.k8s.io":
    "All objects of these resources are deleted, too. This cannot be undone.",
  services: "Clients no longer reach the pods by their names.",
  secrets: "Pods that need them do not start any more.",
  configmaps: "Pods that need them do not start any more.",
};
