/** A condition of an object's status. */
export interface Condition {
  readonly type: string;
  /** "True", "False" or "Unknown". */
  readonly status: string;
  readonly reason?: string;
  readonly message?: string;
  readonly lastTransitionTime?: string;
  readonly observedGeneration?: number;
}

/** The fields that decide whether an object is ready. */
interface Statused {
  readonly kind?: string;
  readonly metadata?: { readonly generation?: number; readonly deletionTimestamp?: string };
  readonly spec?: {
    readonly replicas?: number;
    readonly updateStrategy?: {
      readonly type?: string;
      readonly rollingUpdate?: { readonly partition?: number };
    };
  };
  readonly status?: Status;
}

interface Status extends Readonly<Partial<Record<Numbers, number>>> {
  readonly conditions?: readonly Condition[];
  readonly phase?: string;
  readonly updateRevision?: string;
  readonly currentRevision?: string;
}

type Numbers =
  | "observedGeneration"
  | "replicas"
  | "updatedReplicas"
  | "readyReplicas"
  | "availableReplicas"
  | "desiredNumberScheduled"
  | "updatedNumberScheduled"
  | "numberAvailable";

/**
 * Returns the condition of a type, in any case; undefined if the object does not have it. The
 * condition may be about an earlier generation: see isTrue.
 */
export function conditionOf(object: object, type: string): Condition | undefined {
  const { status } = object as Statused;
  return status?.conditions?.find((each) => each.type.toLowerCase() === type.toLowerCase());
}

/**
 * Returns whether an object has a condition with the status "True" that is not about an earlier
 * generation, as `kubectl wait --for=condition` judges it.
 */
export function isTrue(object: object, type: string): boolean {
  const condition = conditionOf(object, type);
  const { metadata, status } = object as Statused;
  const observed = condition?.observedGeneration ?? status?.observedGeneration;
  const outdated = observed !== undefined && observed < (metadata?.generation ?? observed);
  return condition?.status.toLowerCase() === "true" && !outdated;
}

/**
 * Returns whether an object is ready. An object that is being deleted is not. Deployments, DaemonSets
 * and StatefulSets are ready when their rollout is complete as for `kubectl rollout status` (or, with
 * the strategy OnDelete, when their pods are ready), ReplicaSets
 * when all replicas are ready, Jobs when they are complete, claims when they are bound, namespaces when
 * they are active, CustomResourceDefinitions when they are established, and objects of any other kind
 * by their condition Ready, or else Available. Returns undefined for an object without such a condition.
 */
export function isReady(object: object): boolean | undefined {
  const { kind = "", metadata, spec = {}, status = {} } = object as Statused;
  if (metadata?.deletionTimestamp) return false;
  const check = checks.get(kind);
  if (!check) return byCondition(object);
  const observed = (status.observedGeneration ?? 0) >= (metadata?.generation ?? 0);
  return (observed || !observing.has(kind)) && check(spec, status, object);
}

function byCondition(object: object): boolean | undefined {
  const type = ["Ready", "Available"].find((each) => conditionOf(object, each));
  return type === undefined ? undefined : isTrue(object, type);
}

type Check = (spec: NonNullable<Statused["spec"]>, status: Status, object: object) => boolean;

const isDeploymentReady: Check = ({ replicas: wanted = 1 }, status) => {
  const { replicas = 0, updatedReplicas = 0, availableReplicas = 0 } = status;
  return (
    updatedReplicas >= wanted && replicas <= updatedReplicas && availableReplicas >= updatedReplicas
  );
};

const isDaemonSetReady: Check = ({ updateStrategy }, status) => {
  const { desiredNumberScheduled: wanted = 0 } = status;
  const { updatedNumberScheduled: updated = 0, numberAvailable: available = 0 } = status;
  return available >= wanted && (updated >= wanted || updateStrategy?.type === "OnDelete");
};

const isStatefulSetReady: Check = ({ replicas: wanted = 1, updateStrategy }, status) => {
  const { readyReplicas = 0, updatedReplicas = 0, updateRevision, currentRevision } = status;
  if (readyReplicas < wanted) return false;
  if (updateStrategy?.type === "OnDelete") return true;
  const partition = updateStrategy?.rollingUpdate?.partition ?? 0;
  if (partition > 0) return updatedReplicas >= Math.max(wanted - partition, 0);
  return updateRevision === currentRevision;
};

const checks: ReadonlyMap<string, Check> = new Map<string, Check>([
  ["Deployment", isDeploymentReady],
  ["DaemonSet", isDaemonSetReady],
  ["StatefulSet", isStatefulSetReady],
  ["ReplicaSet", ({ replicas = 1 }, { readyReplicas = 0 }) => readyReplicas >= replicas],
  ["Pod", (_, __, object) => isTrue(object, "Ready")],
  ["Node", (_, __, object) => isTrue(object, "Ready")],
  ["Job", (_, __, object) => isTrue(object, "Complete")],
  ["CustomResourceDefinition", (_, __, object) => isTrue(object, "Established")],
  ["PersistentVolumeClaim", (_, { phase }) => phase === "Bound"],
  ["Namespace", (_, { phase }) => phase === "Active"],
]);

/** The kinds whose status says of which generation it is. */
const observing: ReadonlySet<string> = new Set([
  "Deployment",
  "DaemonSet",
  "StatefulSet",
  "ReplicaSet",
]);
