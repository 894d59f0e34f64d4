import type { KubeValue } from "@kubeconnect/client";

/** A pod on a node that is drained. */
export interface DrainedPod {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  /** Why the pod stays on the node; undefined if it is evicted. */
  readonly staysBecause?: string | undefined;
  /** What evicting the pod loses. */
  readonly loss?: string | undefined;
}

interface PodOnNode extends KubeValue {
  readonly metadata: KubeValue["metadata"] & {
    readonly ownerReferences?: readonly { readonly kind: string; readonly controller?: boolean }[];
  };
  readonly spec?: { readonly volumes?: readonly { readonly emptyDir?: object }[] };
  readonly status?: { readonly phase?: string };
}

/** The paths of a pod that a plan needs. */
export const planFields = [
  "metadata.annotations",
  "metadata.ownerReferences",
  "metadata.deletionTimestamp",
  "spec.volumes[*].emptyDir",
  "status.phase",
];

/** Returns what draining its node does to each pod, by the rules of `kubectl drain`. */
export function planDrain(pods: readonly KubeValue[]): readonly DrainedPod[] {
  return pods.map((pod) => {
    const { namespace = "", name, uid } = pod.metadata;
    return { namespace, name, uid, ...fateOf(pod) };
  });
}

function fateOf({ metadata, spec, status }: PodOnNode): Pick<DrainedPod, "staysBecause" | "loss"> {
  if (metadata.annotations?.["kubernetes.io/config.mirror"]) {
    return { staysBecause: "the node itself runs it (a static pod)" };
  }
  const owner = metadata.ownerReferences?.find((each) => each.controller);
  const isFinished = status?.phase === "Succeeded" || status?.phase === "Failed";
  if (owner?.kind === "DaemonSet") return { staysBecause: "its daemon set would start it again" };
  if (isFinished) return {};
  const hasEmptyDir = spec?.volumes?.some((each) => each.emptyDir) ?? false;
  const losses = [
    ...(owner ? [] : ["no controller will start it elsewhere"]),
    ...(hasEmptyDir ? ["the data in its emptyDir volumes is deleted"] : []),
  ];
  return losses.length ? { loss: losses.join(", and ") } : {};
}
