import { plural, type Finding } from "./types.js";

/** The used fields of a container in the specification of a pod. */
export interface Container {
  readonly name: string;
  readonly image?: string;
  readonly command?: readonly string[];
  readonly args?: readonly string[];
  readonly restartPolicy?: string;
  readonly ports?: readonly {
    readonly name?: string;
    readonly containerPort: number;
    readonly protocol?: string;
  }[];
  readonly env?: readonly {
    readonly name: string;
    readonly value?: string;
    readonly valueFrom?: Readonly<Record<string, unknown>>;
  }[];
  readonly envFrom?: readonly {
    readonly configMapRef?: { readonly name: string };
    readonly secretRef?: { readonly name: string };
  }[];
  readonly resources?: {
    readonly requests?: Readonly<Record<string, string>>;
    readonly limits?: Readonly<Record<string, string>>;
  };
  readonly readinessProbe?: object;
  readonly startupProbe?: object;
}

interface Terminated {
  readonly exitCode: number;
  readonly signal?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly finishedAt?: string;
}

/** The used fields of the status of a container. */
export interface ContainerStatus {
  readonly name: string;
  readonly image?: string;
  readonly ready?: boolean;
  readonly started?: boolean;
  readonly restartCount?: number;
  readonly state?: {
    readonly waiting?: { readonly reason?: string; readonly message?: string };
    readonly running?: { readonly startedAt?: string };
    readonly terminated?: Terminated;
  };
  readonly lastState?: { readonly terminated?: Terminated };
}

/** Returns how a container has ended: "exit code 137 (OOMKilled)". */
export function describeExit({ exitCode, signal, reason }: Terminated): string {
  const code = signal ? `signal ${signal}` : `exit code ${exitCode}`;
  return reason && reason !== "Error" && reason !== "Completed" ? `${code} (${reason})` : code;
}

/** Returns the state of a container in a word or two. */
export function containerState({ state = {}, ready }: ContainerStatus): string {
  if (state.waiting) return state.waiting.reason || "Waiting";
  if (state.terminated) return state.terminated.reason || `Exit code ${state.terminated.exitCode}`;
  if (state.running) return ready ? "Running" : "Running, not ready";
  return "Unknown";
}

/** Returns why a container of a pod is not ready; undefined if nothing is wrong with it. */
export function containerFinding(
  status: ContainerStatus,
  kind: "container" | "init container",
): Finding | undefined {
  const { state = {}, lastState, name } = status;
  if (state.waiting) return waitingFinding(status, kind);
  if (state.terminated && state.terminated.exitCode !== 0) {
    return exitFinding(`The ${kind} ${name}`, state.terminated);
  }
  if (state.running && kind === "container" && status.ready === false) {
    return {
      tone: "warn",
      title:
        status.started === false
          ? `The container ${name} has not passed its startup probe yet`
          : `The container ${name} runs but is not ready`,
      detail:
        lastState?.terminated && `Before that it ended with ${describeExit(lastState.terminated)}.`,
      since: state.running.startedAt,
    };
  }
  return undefined;
}

function waitingFinding(
  { name, image, state, lastState, restartCount = 0 }: ContainerStatus,
  kind: string,
): Finding | undefined {
  const { reason = "", message } = state?.waiting ?? {};
  const subject = `the ${kind} ${name}`;
  const last = lastState?.terminated;
  switch (reason) {
    case "CrashLoopBackOff":
      return crashFinding(subject, restartCount, last);
    case "ImagePullBackOff":
    case "ErrImagePull":
      return {
        tone: "bad",
        title: `The image of ${subject} cannot be pulled: ${image ?? ""}`,
        detail: message,
        advice: "Check the image's name and tag, and the pull secrets of the pod.",
      };
    case "InvalidImageName":
      return { tone: "bad", title: `The image name of ${subject} is invalid`, detail: message };
    case "ErrImageNeverPull":
      return {
        tone: "bad",
        title: `The image of ${subject} is not on the node, and the pull policy is Never`,
        detail: message,
      };
    case "CreateContainerConfigError":
      return {
        tone: "bad",
        title: `The configuration of ${subject} is incomplete`,
        detail: message,
        advice: "A config map, a secret, or a key that it uses does not exist.",
      };
    case "CreateContainerError":
    case "RunContainerError":
      return { tone: "bad", title: `The node cannot start ${subject}`, detail: message };
    case "":
    case "ContainerCreating":
    case "PodInitializing":
      return undefined; // usual for a new pod: the pod's other findings say what it waits for
    default:
      return { tone: "warn", title: `${capital(subject)} waits: ${reason}`, detail: message };
  }
}

function crashFinding(subject: string, restarts: number, last: Terminated | undefined): Finding {
  const ended = last ? `: it ended with ${describeExit(last)}` : "";
  return {
    tone: "bad",
    title: `${capital(subject)} keeps crashing${ended}`,
    detail: last?.message ?? `It was restarted ${plural(restarts, "time")}.`,
    advice:
      last?.reason === "OOMKilled"
        ? "It used more memory than its limit. Raise the limit, or use less memory."
        : "Read the log of its last run.",
    since: last?.finishedAt,
  };
}

function exitFinding(subject: string, terminated: Terminated): Finding {
  return {
    tone: "bad",
    title: `${subject} ended with ${describeExit(terminated)}`,
    detail: terminated.message,
    ...(terminated.reason === "OOMKilled" && {
      advice: "It used more memory than its limit. Raise the limit, or use less memory.",
    }),
    since: terminated.finishedAt,
  };
}

function capital(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
