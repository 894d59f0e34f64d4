import type { KubeValue } from "@kubeconnect/client";
import type { Tone } from "../model/tone.js";
import {
  fieldsOf,
  listOf,
  numberOf,
  specOf,
  statusOf,
  stringOf,
  type Fields,
} from "./columns/column.js";

/** What kubectl shows of a pod. */
export interface PodStatus {
  readonly status: string;
  readonly tone: Tone;
  readonly ready: number;
  readonly containers: number;
  readonly restarts: number;
}

/** The fields that podStatus reads. */
export const podStatusPaths = [
  "metadata.deletionTimestamp",
  "spec.containers[*].name",
  "spec.initContainers[*].name",
  "spec.initContainers[*].restartPolicy",
  "status.phase",
  "status.reason",
  "status.conditions[*].type",
  "status.conditions[*].status",
  "status.conditions[*].reason",
  "status.initContainerStatuses[*].name",
  "status.initContainerStatuses[*].ready",
  "status.initContainerStatuses[*].started",
  "status.initContainerStatuses[*].restartCount",
  "status.initContainerStatuses[*].state",
  "status.containerStatuses[*].ready",
  "status.containerStatuses[*].restartCount",
  "status.containerStatuses[*].state",
];

const known = new WeakMap<KubeValue, PodStatus>();

/** Returns the status of a pod. Several columns show it, so that it is computed once. */
export function podStatus(pod: KubeValue): PodStatus {
  const earlier = known.get(pod);
  if (earlier) return earlier;
  const status = computed(pod);
  known.set(pod, status);
  return status;
}

/** Computes the status of a pod as printPod of kubectl does. */
function computed(pod: KubeValue): PodStatus {
  const initial = initialStatus(pod);
  const sidecars = sidecarNames(pod);
  const starting = initContainers(pod, sidecars);
  const running = mainContainers(pod, initial);
  // kubectl looks at the other containers only if no init container is in the way.
  const reason = starting.reason ?? running.reason ?? initial;
  const status = deletionStatus(pod) ?? reason;
  const restarts = starting.reason
    ? starting.restarts
    : running.restarts + starting.sidecarRestarts;
  const containers = listOf(specOf(pod).containers).length + sidecars.size;
  const ready = running.ready + starting.readySidecars;
  return { status, tone: toneOf(status, ready < containers), ready, containers, restarts };
}

function initialStatus(pod: KubeValue): string {
  const status = statusOf(pod);
  const scheduled = listOf(status.conditions).find(({ type }) => type === "PodScheduled");
  if (scheduled?.reason === "SchedulingGated") return "SchedulingGated";
  return stringOf(status.reason) || stringOf(status.phase) || "Unknown";
}

function sidecarNames(pod: KubeValue): ReadonlySet<string> {
  const all = listOf(specOf(pod).initContainers);
  return new Set(
    all.filter(({ restartPolicy }) => restartPolicy === "Always").map(({ name }) => stringOf(name)),
  );
}

interface InitState {
  /** Why the pod does not start its main containers yet. */
  readonly reason: string | undefined;
  readonly restarts: number;
  readonly sidecarRestarts: number;
  readonly readySidecars: number;
}

function initContainers(pod: KubeValue, sidecars: ReadonlySet<string>): InitState {
  const statuses = listOf(statusOf(pod).initContainerStatuses);
  const total = listOf(specOf(pod).initContainers).length;
  const state = {
    reason: undefined as string | undefined,
    restarts: 0,
    sidecarRestarts: 0,
    readySidecars: 0,
  };
  for (const [index, container] of statuses.entries()) {
    const isSidecar = sidecars.has(stringOf(container.name));
    state.restarts += numberOf(container.restartCount);
    if (isSidecar) state.sidecarRestarts += numberOf(container.restartCount);
    if (isSidecar && container.ready === true) state.readySidecars++;
    state.reason ??= initReason(container, isSidecar, `Init:${index}/${total}`);
  }
  return { ...state, reason: isInitialized(pod) ? undefined : state.reason };
}

/** Returns why an init container is in the way of those after it; undefined if it is not. */
function initReason(container: Fields, isSidecar: boolean, progress: string): string | undefined {
  const { terminated, waiting } = fieldsOf(container.state);
  if (terminated) {
    const ended = fieldsOf(terminated);
    return numberOf(ended.exitCount ?? ended.exitCode) === 0 ? undefined : `Init:${endOf(ended)}`;
  }
  if (isSidecar && container.started === true) return undefined;
  const reason = stringOf(fieldsOf(waiting).reason);
  return reason && reason !== "PodInitializing" ? `Init:${reason}` : progress;
}

function isInitialized(pod: KubeValue): boolean {
  const conditions = listOf(statusOf(pod).conditions);
  return conditions.some(({ type, status }) => type === "Initialized" && status === "True");
}

/** Returns the reason of a container's end, or its signal or exit code. */
function endOf(ended: Fields): string {
  const signal = numberOf(ended.signal);
  return (
    stringOf(ended.reason) || (signal ? `Signal:${signal}` : `ExitCode:${numberOf(ended.exitCode)}`)
  );
}

interface MainState {
  readonly reason: string | undefined;
  readonly ready: number;
  readonly restarts: number;
}

function mainContainers(pod: KubeValue, initial: string): MainState {
  const statuses = listOf(statusOf(pod).containerStatuses);
  const ready = statuses.filter((each) => each.ready === true && isRunning(each)).length;
  const restarts = statuses.reduce((sum, { restartCount }) => sum + numberOf(restartCount), 0);
  const reason = statuses.map(containerReason).find((each) => each !== undefined);
  const isHalfDone = (reason ?? initial) === "Completed" && ready > 0;
  return { reason: isHalfDone ? runningReason(pod) : reason, ready, restarts };
}

function isRunning({ state }: Fields): boolean {
  return fieldsOf(state).running !== undefined;
}

/** A pod whose first container has completed while another one runs is still running. */
function runningReason(pod: KubeValue): string {
  const conditions = listOf(statusOf(pod).conditions);
  const isReady = conditions.some(({ type, status }) => type === "Ready" && status === "True");
  return isReady ? "Running" : "NotReady";
}

function containerReason({ state }: Fields): string | undefined {
  const { waiting, terminated } = fieldsOf(state);
  const reason = stringOf(fieldsOf(waiting).reason);
  if (reason) return reason;
  return terminated ? endOf(fieldsOf(terminated)) : undefined;
}

function deletionStatus(pod: KubeValue): string | undefined {
  const { phase, reason } = statusOf(pod);
  const hasEnded = phase === "Succeeded" || phase === "Failed";
  if (!pod.metadata.deletionTimestamp || hasEnded) return undefined;
  return reason === "NodeLost" ? "Unknown" : "Terminating";
}

const done = new Set(["Completed", "Succeeded"]);
const starting = new Set(["Pending", "ContainerCreating", "PodInitializing", "SchedulingGated"]);

function toneOf(status: string, isPartlyReady: boolean): Tone {
  if (status === "Running") return isPartlyReady ? "warn" : "ok";
  if (done.has(status)) return "neutral";
  if (status === "Terminating") return "info";
  return starting.has(status) || /^Init:\d/.test(status) ? "warn" : "bad";
}
