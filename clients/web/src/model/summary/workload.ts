import type { KubeValue } from "@kubeconnect/client";
import { conditionOf } from "./conditions.js";
import { podStatus, summarizePod } from "./pod.js";
import { plural, type Fact, type Finding, type Related, type Summary } from "./types.js";

interface WorkloadValue extends KubeValue {
  readonly spec?: {
    readonly replicas?: number;
    readonly paused?: boolean;
    readonly strategy?: { readonly type?: string };
    readonly updateStrategy?: { readonly type?: string };
    readonly serviceName?: string;
  };
  readonly status?: Readonly<Record<string, unknown>>;
}

interface Replicas {
  readonly desired: number;
  readonly current: number;
  readonly ready: number;
  readonly updated: number;
}

/** Returns the number of replicas of a workload of any kind. */
export function replicasOf({ kind, spec, status = {} }: WorkloadValue): Replicas {
  const of = (name: string): number => {
    const value = status[name];
    return typeof value === "number" ? value : 0;
  };
  if (kind === "DaemonSet") {
    return {
      desired: of("desiredNumberScheduled"),
      current: of("currentNumberScheduled"),
      ready: of("numberReady"),
      updated: of("updatedNumberScheduled"),
    };
  }
  const current = of("replicas");
  const updated =
    kind === "ReplicaSet" || kind === "ReplicationController" ? current : of("updatedReplicas");
  return { desired: spec?.replicas ?? 1, current, ready: of("readyReplicas"), updated };
}

/** Returns the state of a deployment, a stateful set, a daemon set or a replica set. */
export function summarizeWorkload(value: KubeValue, related: Related = {}): Summary {
  const workload = value as WorkloadValue;
  const replicas = replicasOf(workload);
  const findings = [
    ...conditionFindings(workload),
    ...replicaSetFindings(related.replicaSets),
    ...rolloutFindings(workload, replicas),
    ...failingPodFindings(related.failingPods),
  ];
  return {
    status: workloadStatus(workload, replicas, findings),
    findings,
    facts: workloadFacts(workload, replicas),
  };
}

function workloadStatus(
  workload: WorkloadValue,
  { desired, ready, updated, current }: Replicas,
  findings: readonly Finding[],
): Summary["status"] {
  if (workload.metadata.deletionTimestamp) return { text: "Terminating", tone: "warn" };
  if (desired === 0 && current === 0) return { text: "Scaled to zero", tone: "neutral" };
  if (findings.some((each) => each.tone === "bad")) {
    return ready === 0 ? { text: "Unavailable", tone: "bad" } : { text: "Degraded", tone: "bad" };
  }
  if (workload.spec?.paused) return { text: "Paused", tone: "warn" };
  if (updated < desired || current > desired) return { text: "Rolling out", tone: "info" };
  if (ready < desired) return { text: `${ready} of ${desired} ready`, tone: "warn" };
  return { text: "Available", tone: "ok" };
}

function conditionFindings(workload: WorkloadValue): readonly Finding[] {
  const findings: Finding[] = [];
  const failure = conditionOf(workload, "ReplicaFailure");
  if (failure?.status === "True")
    findings.push(createFinding(failure.message, failure.lastTransitionTime));
  const progressing = conditionOf(workload, "Progressing");
  if (progressing?.status === "False") {
    findings.push({
      tone: "bad",
      title:
        progressing.reason === "ProgressDeadlineExceeded"
          ? "The rollout made no progress within its deadline"
          : `The rollout does not progress: ${progressing.reason ?? ""}`,
      detail: progressing.message,
      advice: "Look at the pods below, or roll back to the last revision that worked.",
      since: progressing.lastTransitionTime ?? undefined,
    });
  }
  const available = conditionOf(workload, "Available");
  if (available?.status === "False") {
    findings.push({
      tone: "bad",
      title: "Fewer pods are available than required",
      detail: available.message,
      since: available.lastTransitionTime ?? undefined,
    });
  }
  return findings;
}

function createFinding(message: string | undefined, since?: string | null): Finding {
  const isQuota = (message ?? "").includes("exceeded quota");
  return {
    tone: "bad",
    title: isQuota ? "No pod can be created: a quota is used up" : "Pods cannot be created",
    detail: message,
    ...(isQuota && { advice: "Raise the quota of the namespace, or lower the requests." }),
    since: since ?? undefined,
  };
}

/** Returns the failures of replica sets, which a deployment reports later or never. */
function replicaSetFindings(replicaSets: Related["replicaSets"]): readonly Finding[] {
  return (replicaSets ?? []).flatMap((each) => {
    const failure = conditionOf(each, "ReplicaFailure");
    if (failure?.status !== "True") return [];
    const { namespace, name } = each.metadata;
    const about = { resource: "replicasets.apps", namespace, name };
    return [{ ...createFinding(failure.message, failure.lastTransitionTime), about }];
  });
}

function rolloutFindings(
  { spec, kind, metadata, status = {} }: WorkloadValue,
  { desired, current, updated }: Replicas,
): readonly Finding[] {
  const findings: Finding[] = [];
  if (spec?.paused) {
    findings.push({
      tone: "warn",
      title: "The rollout is paused: changes of the template have no effect",
    });
  }
  const generation = (metadata as { generation?: number }).generation ?? 0;
  const observed =
    typeof status.observedGeneration === "number" ? status.observedGeneration : generation;
  if (observed < generation) {
    findings.push({ tone: "info", title: "The controller has not seen the latest change yet" });
  }
  if (updated < desired && current > 0) {
    const title = `${updated} of ${plural(desired, "pod")} ${updated === 1 ? "has" : "have"} the latest template`;
    findings.push({ tone: "info", title });
  }
  if (kind !== "DaemonSet" && updated >= desired && current > desired) {
    findings.push({
      tone: "info",
      title: `${plural(current - desired, "pod")} of the earlier template remain`,
    });
  }
  return findings;
}

/** Returns why pods are not ready, once for each reason. */
function failingPodFindings(pods: Related["failingPods"]): readonly Finding[] {
  const byReason = new Map<string, { finding: Finding; count: number }>();
  for (const pod of pods ?? []) {
    const finding = podReason(pod);
    const reason = finding.title.replace(pod.metadata.name, "");
    const known = byReason.get(reason);
    if (known) known.count++;
    else byReason.set(reason, { finding, count: 1 });
  }
  return [...byReason.values()].map(({ finding, count }) => ({
    ...finding,
    title: count > 1 ? `${finding.title} (and ${plural(count - 1, "other pod")})` : finding.title,
  }));
}

function podReason(pod: KubeValue): Finding {
  const { namespace, name } = pod.metadata;
  const about = { resource: "pods", namespace, name };
  const [first] = summarizePod(pod).findings;
  if (first) return { ...first, title: `A pod is not ready. ${first.title}`, about };
  const { text } = podStatus(pod);
  return {
    tone: "info",
    title: `A pod is not ready yet: ${text}`,
    since: pod.metadata.creationTimestamp,
    about,
  };
}

function workloadFacts(
  workload: WorkloadValue,
  { desired, ready, updated }: Replicas,
): readonly Fact[] {
  const { spec } = workload;
  const strategy = spec?.strategy?.type ?? spec?.updateStrategy?.type;
  const revision = workload.metadata.annotations?.["deployment.kubernetes.io/revision"];
  return [
    { name: "Ready", value: `${ready} of ${desired}` },
    { name: "With the latest template", value: `${updated} of ${desired}` },
    ...(strategy ? [{ name: "Strategy", value: strategy }] : []),
    ...(revision ? [{ name: "Revision", value: revision }] : []),
    ...(spec?.serviceName
      ? [
          {
            name: "Service",
            value: spec.serviceName,
            about: {
              resource: "services",
              namespace: workload.metadata.namespace,
              name: spec.serviceName,
            },
          },
        ]
      : []),
  ];
}
