import type { KubeValue } from "@kubeconnect/client";
import { conditionOf, conditionsOf } from "./conditions.js";
import type { Fact, Finding, Summary } from "./types.js";

interface NodeValue extends KubeValue {
  readonly spec?: {
    readonly unschedulable?: boolean;
    readonly taints?: readonly {
      readonly key: string;
      readonly value?: string;
      readonly effect: string;
    }[];
  };
  readonly status?: {
    readonly capacity?: Readonly<Record<string, string>>;
    readonly allocatable?: Readonly<Record<string, string>>;
    readonly addresses?: readonly { readonly type: string; readonly address: string }[];
    readonly nodeInfo?: Readonly<Record<string, string>>;
  };
}

const pressures: Record<string, string> = {
  MemoryPressure: "The node is short of memory, and evicts pods",
  DiskPressure: "The node is short of disk space, and evicts pods",
  PIDPressure: "The node has too many processes",
  NetworkUnavailable: "The network of the node is not set up",
};

/** Returns what is wrong with a node. */
export function nodeFindings(node: KubeValue): readonly Finding[] {
  const ready = conditionOf(node, "Ready");
  const findings: Finding[] = [];
  if (ready && ready.status !== "True") {
    findings.push({
      tone: "bad",
      title:
        ready.status === "Unknown" ? "The node does not report any more" : "The node is not ready",
      detail: ready.message,
      since: ready.lastTransitionTime ?? undefined,
    });
  }
  for (const { type, status, message, lastTransitionTime } of conditionsOf(node)) {
    const title = pressures[type];
    if (!title || status !== "True") continue;
    findings.push({ tone: "bad", title, detail: message, since: lastTransitionTime ?? undefined });
  }
  return findings;
}

/** Returns the state of a node: its conditions, its taints, and whether it takes pods. */
export function summarizeNode(value: KubeValue): Summary {
  const node = value as NodeValue;
  const problems = nodeFindings(node);
  const isCordoned = node.spec?.unschedulable === true;
  const cordoned: Finding = {
    tone: "warn",
    title: "The node is cordoned: no new pods are scheduled on it",
    advice: "Uncordon it when it may run pods again.",
  };
  return {
    status: nodeStatus(node, problems, isCordoned),
    findings: [...problems, ...(isCordoned ? [cordoned] : []), ...taintFindings(node)],
    facts: nodeFacts(node),
  };
}

function nodeStatus(
  node: KubeValue,
  problems: readonly Finding[],
  isCordoned: boolean,
): Summary["status"] {
  const ready = conditionOf(node, "Ready");
  if (ready && ready.status !== "True") return { text: "Not ready", tone: "bad" };
  if (problems.length > 0) return { text: "Under pressure", tone: "bad" };
  return isCordoned ? { text: "Cordoned", tone: "warn" } : { text: "Ready", tone: "ok" };
}

/** Returns the taints that people have set: those of Kubernetes repeat the conditions. */
function taintFindings({ spec }: NodeValue): readonly Finding[] {
  const taints = (spec?.taints ?? []).filter(({ key }) => !key.startsWith("node.kubernetes.io/"));
  return taints.map(({ key, value, effect }) => ({
    tone: "info",
    title: `Tainted ${key}${value ? `=${value}` : ""}: ${taintEffects[effect] ?? effect}`,
  }));
}

const taintEffects: Record<string, string> = {
  NoSchedule: "only pods that tolerate it are scheduled here",
  PreferNoSchedule: "pods that do not tolerate it are scheduled elsewhere if possible",
  NoExecute: "pods that do not tolerate it are evicted",
};

function nodeFacts({ status = {} }: NodeValue): readonly Fact[] {
  const { allocatable = {}, addresses = [], nodeInfo = {} } = status;
  const facts: [string, string | undefined][] = [
    ["Allocatable CPU", allocatable.cpu],
    ["Allocatable memory", allocatable.memory],
    ["Pods at most", allocatable.pods],
    ["Address", addresses.find(({ type }) => type === "InternalIP")?.address],
    ["Kubelet", nodeInfo.kubeletVersion],
    ["System", nodeInfo.osImage],
    ["Architecture", nodeInfo.architecture],
    ["Runtime", nodeInfo.containerRuntimeVersion],
  ];
  return facts.flatMap(([name, value]) => (value ? [{ name, value }] : []));
}
