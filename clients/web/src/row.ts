import { keyOf, type KubeObject, type ObjectHead } from "@kubeconnect/client";
import { summarize, type Pod, type PodSummary } from "./pod.js";

/** The category of a status, which selects the colour of its dot. */
export type Tone = "good" | "busy" | "bad" | "done";

/** The projection of a pod that the table stores. The pod itself is not retained. */
export interface PodRow extends ObjectHead, PodSummary {
  readonly key: string;
  readonly tone: Tone;
  /** Milliseconds since 1970; undefined if the pod has no creation time. */
  readonly createdAt: number | undefined;
  readonly node: string;
  readonly labels: readonly Label[];
  /** The text that the filter searches, in lower case. */
  readonly text: string;
}

export type Label = readonly [key: string, value: string];

/** Returns the row of a pod. A pod whose content cannot be read has the status "Unreadable". */
export function podRow(object: KubeObject<Pod>): PodRow {
  const { namespace, name, uid, resourceVersion } = object;
  const pod = readable(object);
  const summary = pod
    ? summarize(pod)
    : { ready: 0, containers: 0, status: "Unreadable", restarts: 0 };
  const node = pod?.spec?.nodeName ?? "";
  const labels = Object.entries(pod?.metadata.labels ?? {}).sort(byRelevance);
  const pairs = labels.map(([key, value]) => `${key}=${value}`);
  return {
    namespace,
    name,
    uid,
    resourceVersion,
    key: keyOf(object),
    ...summary,
    tone: toneOf(summary),
    createdAt: pod?.metadata.creationTimestamp
      ? Date.parse(pod.metadata.creationTimestamp)
      : undefined,
    node,
    labels,
    text: [namespace, name, summary.status, node, ...pairs].join("\n").toLowerCase(),
  };
}

function readable(object: KubeObject<Pod>): Pod | undefined {
  try {
    return object.value;
  } catch {
    return undefined;
  }
}

const busy =
  /^(Pending|ContainerCreating|PodInitializing|Terminating|NotReady|SchedulingGated|Init:\d+\/\d+)$/;

function toneOf({ status, ready, containers }: PodSummary): Tone {
  if (status === "Completed" || status === "Succeeded") return "done";
  if (status === "Running") return ready === containers ? "good" : "busy";
  return busy.test(status) ? "busy" : "bad";
}

/** Hashes that controllers set on pods are shown last, because users rarely need them. */
const controllerLabels =
  /(^|\/)(pod-template-hash|pod-template-generation|controller-revision-hash|controller-uid|pod-index)$/;

function byRelevance([a]: Label, [b]: Label): number {
  return Number(controllerLabels.test(a)) - Number(controllerLabels.test(b)) || compare(a, b);
}

/** Compares strings by code units, as the API server orders names. */
export function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
