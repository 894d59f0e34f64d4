/** The fields of a pod that its row shows, in Kubernetes JSON. */
export interface Pod {
  metadata: {
    creationTimestamp?: string;
    deletionTimestamp?: string;
    labels?: Record<string, string>;
  };
  spec?: {
    nodeName?: string;
    containers?: unknown[];
    initContainers?: { name: string; restartPolicy?: string }[];
  };
  status?: {
    phase?: string;
    reason?: string;
    conditions?: { type: string; status: string; reason?: string }[];
    initContainerStatuses?: ContainerStatus[];
    containerStatuses?: ContainerStatus[];
  };
}

/** The paths of these fields, which are all that the service sends of a pod. */
export const podFields = [
  "metadata.creationTimestamp",
  "metadata.deletionTimestamp",
  "metadata.labels",
  "spec.nodeName",
  "spec.containers[*].name",
  "spec.initContainers[*].name",
  "spec.initContainers[*].restartPolicy",
  "status.phase",
  "status.reason",
  "status.conditions[*].type",
  "status.conditions[*].status",
  "status.conditions[*].reason",
  ...["status.initContainerStatuses[*]", "status.containerStatuses[*]"].flatMap((container) =>
    ["name", "ready", "started", "restartCount", "state"].map((field) => `${container}.${field}`),
  ),
];

export interface ContainerStatus {
  name: string;
  ready?: boolean;
  started?: boolean;
  restartCount?: number;
  state?: {
    running?: unknown;
    waiting?: { reason?: string };
    terminated?: { reason?: string; exitCode?: number; signal?: number };
  };
}

/** The columns of kubectl's table of pods. */
export interface PodSummary {
  /** Containers that are ready; sidecars count, other init containers do not. */
  ready: number;
  containers: number;
  /** The status, such as "Running", "CrashLoopBackOff" or "Init:0/2". */
  status: string;
  restarts: number;
}

/** Returns the columns of a pod, by the rules of `kubectl get pods`. */
export function summarize(pod: Pod): PodSummary {
  const started = initialize(pod);
  const summary =
    started.waitsFor === undefined || hasCondition(pod, "Initialized")
      ? run(pod, started)
      : { ...started, status: started.waitsFor };
  const { ready, restarts } = summary;
  return {
    ready,
    containers: containerCount(pod),
    status: endOf(pod) ?? summary.status,
    restarts,
  };
}

/** The progress of the init containers. */
interface Initialization {
  /** The status of the first init container that is not finished; undefined if all are. */
  waitsFor: string | undefined;
  /** The number of ready sidecars. */
  ready: number;
  restarts: number;
  sidecarRestarts: number;
}

function initialize(pod: Pod): Initialization {
  const statuses = pod.status?.initContainerStatuses ?? [];
  const blocking = statuses.findIndex((container) => !hasInitialized(pod, container));
  const blocker = statuses[blocking];
  const begun = blocker ? statuses.slice(0, blocking + 1) : statuses;
  const sidecars = begun.filter((container) => isSidecar(pod, container));
  return {
    waitsFor: blocker && initStatus(pod, blocker, blocking),
    ready: sidecars.filter((sidecar) => sidecar.started && sidecar.ready).length,
    restarts: restartsOf(begun),
    sidecarRestarts: restartsOf(sidecars),
  };
}

function hasInitialized(pod: Pod, container: ContainerStatus): boolean {
  const { state, started } = container;
  return state?.terminated?.exitCode === 0 || (isSidecar(pod, container) && started === true);
}

function initStatus(pod: Pod, { state }: ContainerStatus, index: number): string {
  if (state?.terminated) {
    return `Init:${terminationOf(state.terminated)}`;
  }
  if (state?.waiting?.reason && state.waiting.reason !== "PodInitializing") {
    return `Init:${state.waiting.reason}`;
  }
  return `Init:${index}/${pod.spec?.initContainers?.length ?? 0}`;
}

function run(pod: Pod, started: Initialization): Omit<PodSummary, "containers"> {
  const containers = pod.status?.containerStatuses ?? [];
  const ready = containers.filter(isReady).length;
  const problem = containers.map(problemOf).find((reason) => reason !== undefined);
  const status = problem ?? started.waitsFor ?? reasonOf(pod);
  return {
    ready: started.ready + ready,
    status: status === "Completed" && ready > 0 ? partlyCompleted(pod) : status,
    restarts: started.sidecarRestarts + restartsOf(containers),
  };
}

/** Returns the status of a pod of which some containers have completed while others run. */
function partlyCompleted(pod: Pod): string {
  return hasCondition(pod, "Ready") ? "Running" : "NotReady";
}

function problemOf({ state }: ContainerStatus): string | undefined {
  if (state?.waiting?.reason) {
    return state.waiting.reason;
  }
  return state?.terminated && terminationOf(state.terminated);
}

function isReady(container: ContainerStatus): boolean {
  return (
    container.ready === true && container.state?.running !== undefined && !problemOf(container)
  );
}

function reasonOf({ status }: Pod): string {
  const gated = status?.conditions?.some(
    ({ type, reason }) => type === "PodScheduled" && reason === "SchedulingGated",
  );
  return gated ? "SchedulingGated" : status?.reason || status?.phase || "Unknown";
}

/** Returns the status of a pod that is being deleted; undefined to keep its other status. */
function endOf({ metadata, status }: Pod): string | undefined {
  if (metadata.deletionTimestamp === undefined) {
    return undefined;
  }
  if (status?.reason === "NodeLost") {
    return "Unknown";
  }
  return status?.phase === "Succeeded" || status?.phase === "Failed" ? undefined : "Terminating";
}

function terminationOf(terminated: {
  reason?: string;
  exitCode?: number;
  signal?: number;
}): string {
  const { reason, exitCode = 0, signal = 0 } = terminated;
  return reason || (signal === 0 ? `ExitCode:${exitCode}` : `Signal:${signal}`);
}

function isSidecar(pod: Pod, { name }: ContainerStatus): boolean {
  return pod.spec?.initContainers?.find((c) => c.name === name)?.restartPolicy === "Always";
}

function containerCount({ spec }: Pod): number {
  const sidecars = spec?.initContainers?.filter((c) => c.restartPolicy === "Always") ?? [];
  return (spec?.containers?.length ?? 0) + sidecars.length;
}

function hasCondition({ status }: Pod, type: string): boolean {
  return status?.conditions?.some((c) => c.type === type && c.status === "True") ?? false;
}

function restartsOf(statuses: ContainerStatus[]): number {
  return statuses.reduce((total, { restartCount = 0 }) => total + restartCount, 0);
}
