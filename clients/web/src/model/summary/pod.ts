import type { KubeValue } from "@kubeconnect/client";
import type { Tone } from "../../model/tone.js";
import { conditionOf, conditionsOf } from "./conditions.js";
import {
  containerFinding,
  containerState,
  type Container,
  type ContainerStatus,
} from "./containers.js";
import { nodeFindings } from "./node.js";
import {
  eventCount,
  eventTime,
  plural,
  type Fact,
  type Finding,
  type Related,
  type Summary,
} from "./types.js";

/** The used fields of a pod. */
export interface PodValue extends KubeValue {
  readonly spec?: {
    readonly nodeName?: string;
    readonly serviceAccountName?: string;
    readonly containers?: readonly Container[];
    readonly initContainers?: readonly Container[];
    readonly readinessGates?: readonly { readonly conditionType: string }[];
    readonly volumes?: readonly {
      readonly name: string;
      readonly persistentVolumeClaim?: { readonly claimName: string };
    }[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly podIP?: string;
    readonly qosClass?: string;
    readonly containerStatuses?: readonly ContainerStatus[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
  };
}

/** Returns the state of a pod, and why it is not ready. */
export function summarizePod(value: KubeValue, related: Related = {}): Summary {
  const pod = value as PodValue;
  const status = podStatus(pod);
  const isWell = status.tone === "ok";
  const findings = isWell ? restartFindings(pod) : podFindings(pod, related);
  return { status, findings, facts: podFacts(pod) };
}

/** Returns the status of a pod as kubectl prints it, with its meaning. */
export function podStatus({ metadata, spec, status = {} }: PodValue): Summary["status"] {
  if (metadata.deletionTimestamp) return { text: "Terminating", tone: "warn" };
  const { phase = "Unknown", reason, containerStatuses = [], initContainerStatuses = [] } = status;
  if (phase === "Succeeded") return { text: "Completed", tone: "ok" };
  if (phase === "Failed") return { text: reason || "Failed", tone: "bad" };
  const sidecars = new Set(
    spec?.initContainers
      ?.filter((each) => each.restartPolicy === "Always")
      .map((each) => each.name),
  );
  const init = initContainerStatuses.find(
    (each) => !sidecars.has(each.name) && each.state?.terminated?.exitCode !== 0,
  );
  if (init)
    return { text: `Init: ${containerState(init)}`, tone: waitingTone(containerState(init)) };
  const broken = containerStatuses.find(
    ({ state }) => state?.waiting?.reason ?? (state?.terminated && state.terminated.exitCode !== 0),
  );
  if (broken) return { text: containerState(broken), tone: waitingTone(containerState(broken)) };
  if (phase !== "Running") return { text: phase, tone: phase === "Pending" ? "warn" : "neutral" };
  const isReady = conditionsOf({ metadata, status } as unknown as KubeValue).some(
    ({ type, status: is }) => type === "Ready" && is === "True",
  );
  return isReady ? { text: "Running", tone: "ok" } : { text: "Not ready", tone: "warn" };
}

function waitingTone(state: string): Tone {
  return /ContainerCreating|PodInitializing|Running|Waiting|Unknown/.test(state) ? "info" : "bad";
}

function podFindings(pod: PodValue, related: Related): readonly Finding[] {
  return [
    ...deletionFindings(pod),
    ...failureFindings(pod),
    ...schedulingFindings(pod),
    ...claimFindings(pod, related.claims),
    ...statusFindings(pod.status?.initContainerStatuses, "init container"),
    ...statusFindings(pod.status?.containerStatuses, "container"),
    ...probeFindings(related),
    ...gateFindings(pod),
    ...pullFindings(pod, related),
    ...(related.node ? nodeFindings(related.node).map((each) => onNode(pod, each)) : []),
  ];
}

function deletionFindings({ metadata }: PodValue): readonly Finding[] {
  const { deletionTimestamp, finalizers } = metadata as PodValue["metadata"] & {
    finalizers?: string[];
  };
  if (!deletionTimestamp) return [];
  return [
    {
      tone: "warn",
      title: "The pod is being deleted",
      detail: finalizers?.length
        ? `It waits for the finalizers ${finalizers.join(", ")}.`
        : "Its containers have time to shut down until their grace period ends.",
      since: deletionTimestamp,
    },
  ];
}

function failureFindings({ status = {} }: PodValue): readonly Finding[] {
  if (status.phase !== "Failed" || (!status.reason && !status.message)) return [];
  const title =
    status.reason === "Evicted"
      ? "The node evicted the pod"
      : `The pod failed: ${status.reason ?? ""}`;
  return [{ tone: "bad", title, detail: status.message }];
}

function schedulingFindings(pod: PodValue): readonly Finding[] {
  const scheduled = conditionOf(pod, "PodScheduled");
  if (scheduled?.status !== "False") return [];
  const since = scheduled.lastTransitionTime ?? undefined;
  if (scheduled.reason === "SchedulingGated") {
    return [
      {
        tone: "warn",
        title: "The pod waits for its scheduling gates",
        detail: scheduled.message,
        since,
      },
    ];
  }
  return [
    {
      tone: "bad",
      title: "No node can run the pod",
      detail: scheduled.message,
      advice: schedulingAdvice(scheduled.message ?? ""),
      since,
    },
  ];
}

function schedulingAdvice(message: string): string {
  if (message.includes("Insufficient"))
    return "Lower its requests, or add a node with enough free resources.";
  if (message.includes("taint")) return "Add a toleration, or a node without these taints.";
  if (/affinity|selector/.test(message))
    return "Compare its node selector and affinity with the labels of the nodes.";
  if (/volume|persistentvolumeclaim/i.test(message)) return "Look at its persistent volume claims.";
  return "The message says how many nodes were refused for each reason.";
}

function claimFindings(
  { spec, metadata }: PodValue,
  claims: Related["claims"],
): readonly Finding[] {
  if (!claims) return [];
  return (spec?.volumes ?? []).flatMap(({ name, persistentVolumeClaim }) => {
    if (!persistentVolumeClaim) return [];
    const { claimName } = persistentVolumeClaim;
    const claim = claims.find((each) => each.metadata.name === claimName);
    const { phase } = (claim?.status ?? {}) as { phase?: string };
    if (phase === "Bound") return [];
    const about = {
      resource: "persistentvolumeclaims",
      namespace: metadata.namespace,
      name: claimName,
    };
    const title = claim
      ? `The volume ${name} waits: its claim ${claimName} is ${(phase ?? "pending").toLowerCase()}`
      : `The volume ${name} needs the claim ${claimName}, which does not exist`;
    return [{ tone: "bad" as const, title, about }];
  });
}

function statusFindings(
  statuses: readonly ContainerStatus[] | undefined,
  kind: "container" | "init container",
): readonly Finding[] {
  return (statuses ?? []).flatMap((status) => containerFinding(status, kind) ?? []);
}

/** Returns the latest event of failing probes, which the status of a container does not have. */
function probeFindings({ warnings = [] }: Related): readonly Finding[] {
  const latest = warnings.find(({ reason }) => reason === "Unhealthy" || reason === "ProbeWarning");
  if (!latest) return [];
  const probe = /^(\w+) probe/.exec(latest.message ?? "")?.[1] ?? "A";
  return [
    {
      tone: "warn",
      title: `${probe} probe failed ${plural(eventCount(latest), "time")}`,
      detail: latest.message,
      since: eventTime(latest),
    },
  ];
}

function gateFindings(pod: PodValue): readonly Finding[] {
  return (pod.spec?.readinessGates ?? []).flatMap(({ conditionType }) => {
    const condition = conditionOf(pod, conditionType);
    if (condition?.status === "True") return [];
    const detail =
      condition?.message ?? (condition ? undefined : "Nothing has set its condition yet.");
    return [
      { tone: "warn" as const, title: `The readiness gate ${conditionType} is not met`, detail },
    ];
  });
}

/** Returns why a scheduled pod has not started, from events: the status does not say it. */
function pullFindings(pod: PodValue, { warnings = [] }: Related): readonly Finding[] {
  const isWaiting = pod.status?.phase === "Pending" && pod.spec?.nodeName;
  const latest = warnings.find(({ reason }) =>
    ["FailedMount", "FailedAttachVolume", "FailedCreatePodSandBox"].includes(reason ?? ""),
  );
  if (!isWaiting || !latest) return [];
  const title =
    latest.reason === "FailedCreatePodSandBox"
      ? "The node cannot set up the network of the pod"
      : "The node cannot mount a volume of the pod";
  return [{ tone: "bad", title, detail: latest.message, since: eventTime(latest) }];
}

function onNode({ spec }: PodValue, finding: Finding): Finding {
  const about = { resource: "nodes", name: spec?.nodeName ?? "" };
  return { ...finding, title: `Its node: ${finding.title}`, about };
}

/** Returns what a running pod has been through. */
function restartFindings({ status }: PodValue): readonly Finding[] {
  return (status?.containerStatuses ?? []).flatMap(({ name, restartCount = 0, lastState }) => {
    const last = lastState?.terminated;
    if (restartCount === 0 || !last || last.exitCode === 0) return [];
    const reason =
      last.reason === "OOMKilled" ? "ran out of memory" : `ended with exit code ${last.exitCode}`;
    return [
      {
        tone: "warn" as const,
        title: `The container ${name} was restarted ${plural(restartCount, "time")}; it last ${reason}`,
        detail: last.message,
        since: last.finishedAt,
      },
    ];
  });
}

function podFacts({ spec = {}, status = {}, metadata }: PodValue): readonly Fact[] {
  const statuses = status.containerStatuses ?? [];
  const restarts = statuses.reduce((sum, { restartCount = 0 }) => sum + restartCount, 0);
  const ready = statuses.filter((each) => each.ready).length;
  const { nodeName, serviceAccountName: account } = spec;
  return [
    { name: "Ready", value: `${ready} of ${plural(spec.containers?.length ?? 0, "container")}` },
    { name: "Restarts", value: String(restarts) },
    nodeName
      ? { name: "Node", value: nodeName, about: { resource: "nodes", name: nodeName } }
      : { name: "Node", value: "not scheduled" },
    { name: "IP", value: status.podIP ?? "none" },
    ...(status.qosClass ? [{ name: "Quality of service", value: status.qosClass }] : []),
    ...(account
      ? [
          {
            name: "Service account",
            value: account,
            about: { resource: "serviceaccounts", namespace: metadata.namespace, name: account },
          },
        ]
      : []),
  ];
}
