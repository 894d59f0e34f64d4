import { Code, KubeconnectError, keyOf, type Client } from "@kubeconnect/client";
import { planDrain, planFields, type DrainedPod } from "./drainplan.js";
import { cordon } from "./patches.js";

/** The progress of a pod. */
export type DrainState = "waiting" | "evicted" | "gone" | "blocked" | "failed" | "stays";

/** The progress of one pod of a drain. */
export interface DrainStep extends DrainedPod {
  readonly state: DrainState;
  /** Why it is blocked or has failed. */
  readonly message?: string | undefined;
  readonly attempts: number;
}

/** Options of a drain. */
export interface DrainOptions {
  /** Stops after the present eviction. Pods that were evicted remain so. */
  readonly signal: AbortSignal;
  /** The seconds that pods have to shut down; their own without it. */
  readonly gracePeriodSeconds?: number | undefined;
  /** Waits; replaced by tests. Rejects when the signal is aborted. */
  readonly sleep?: ((ms: number, signal: AbortSignal) => Promise<void>) | undefined;
}

/** The time between attempts to evict a pod that a budget protects, as kubectl has it. */
const retryMs = 5_000;
/** The time between looks at the pods that shut down. */
const lookMs = 1_000;

/** Reads the pods on a node, and what draining it does to each. */
export async function readDrainPlan(client: Client, node: string): Promise<readonly DrainedPod[]> {
  const fieldSelector = `spec.nodeName=${node}`;
  const { objects } = await client.list("pods", { fieldSelector, fields: planFields }).all();
  return planDrain(
    objects.map(({ value, namespace, name, uid }) => ({
      ...value,
      metadata: { ...value.metadata, namespace, name, uid },
    })),
  );
}

/**
 * Cordons a node, and evicts the pods of the plan one after the other. An eviction that a
 * disruption budget does not allow is tried again until it is allowed. The progress of all pods is
 * reported after each step. Returns when all evicted pods are gone, and throws the reason of the
 * signal when it is aborted.
 */
export async function* drain(
  client: Client,
  node: string,
  plan: readonly DrainedPod[],
  { signal, gracePeriodSeconds, sleep = sleepFor }: DrainOptions,
): AsyncGenerator<readonly DrainStep[], void, undefined> {
  await cordon(client, node, true);
  const steps = new Map(plan.map((pod) => [pod.uid, firstStep(pod)]));
  yield [...steps.values()];
  while (!isDone(steps)) {
    for (const step of steps.values()) {
      if (step.state !== "waiting" && step.state !== "blocked") continue;
      signal.throwIfAborted();
      steps.set(step.uid, await evict(client, step, gracePeriodSeconds, signal));
      yield [...steps.values()];
    }
    await lookAt(client, node, steps, signal);
    yield [...steps.values()];
    if (isDone(steps)) return;
    const isBlocked = [...steps.values()].some((each) => each.state === "blocked");
    await sleep(isBlocked ? retryMs : lookMs, signal);
  }
}

function firstStep(pod: DrainedPod): DrainStep {
  return { ...pod, state: pod.staysBecause ? "stays" : "waiting", attempts: 0 };
}

function isDone(steps: ReadonlyMap<string, DrainStep>): boolean {
  return [...steps.values()].every(({ state }) => ["gone", "failed", "stays"].includes(state));
}

async function evict(
  client: Client,
  step: DrainStep,
  gracePeriodSeconds: number | undefined,
  signal: AbortSignal,
): Promise<DrainStep> {
  const { namespace, name, uid } = step;
  const attempts = step.attempts + 1;
  const eviction = {
    apiVersion: "policy/v1",
    kind: "Eviction",
    metadata: { namespace, name },
    deleteOptions: { gracePeriodSeconds, preconditions: { uid } },
  };
  try {
    await client.create("pods", eviction, { namespace, name, subresource: "eviction", signal });
    return { ...step, attempts, state: "evicted", message: undefined };
  } catch (error) {
    signal.throwIfAborted();
    return { ...step, attempts, ...refusal(KubeconnectError.from(error)) };
  }
}

function refusal({ code, message }: KubeconnectError): Pick<DrainStep, "state" | "message"> {
  switch (code) {
    case Code.NotFound:
      return { state: "gone", message: undefined };
    case Code.ResourceExhausted: // 429: a budget does not allow it now
    case Code.Unavailable:
    case Code.DeadlineExceeded:
      return { state: "blocked", message };
    default:
      return { state: "failed", message };
  }
}

/** Marks the evicted pods that do not exist any more. */
async function lookAt(
  client: Client,
  node: string,
  steps: Map<string, DrainStep>,
  signal: AbortSignal,
): Promise<void> {
  const fieldSelector = `spec.nodeName=${node}`;
  const options = { fieldSelector, metadataOnly: true, consistency: "latest", signal } as const;
  const { objects } = await client.list("pods", options).all();
  const uids = new Map(objects.map((each) => [keyOf(each), each.uid]));
  for (const step of steps.values()) {
    const isGone = uids.get(keyOf(step)) !== step.uid;
    if (step.state === "evicted" && isGone) steps.set(step.uid, { ...step, state: "gone" });
  }
}

function sleepFor(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const onAbort = (): void => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    }, ms);
    signal.addEventListener("abort", onAbort, { once: true });
  });
}
