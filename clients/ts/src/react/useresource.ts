import type { KubeObject, KubeValue, ObjectName } from "../object.js";
import type { ObjectOf, ResourceName } from "../resources.js";
import { keyOf } from "../objectstate.js";
import type { Store, StoreOptions, StoreSnapshot } from "../store.js";
import { useOverlaidObject } from "./useoverlaid.js";
import { useShared, type HookOptionsOf } from "./useshared.js";
import type { LiveView } from "./view.js";

/** Options of useResource: what to read of the object. */
export type UseResourceOptions = HookOptionsOf<
  Omit<StoreOptions, "name" | "namespace" | "requireAllNamespaces">
>;

/** What useResource returns. */
export interface LiveResource<T = KubeValue> extends Omit<
  LiveView<StoreSnapshot<T>>,
  "snapshot" | "scrolling"
> {
  /** Undefined if the object does not exist, and before the first snapshot. */
  readonly object: KubeObject<T> | undefined;
  /** Whether the object exists; false before the first snapshot. */
  readonly exists: boolean;
  /** Human-readable warnings, as in ListPage. */
  readonly warnings: readonly string[];
  /** Whether the object is the one of the earlier name or options: see `keepPrevious`. */
  readonly previous: boolean;
}

/**
 * Returns one object, live, also if it is created later or again. Without a resource or a name
 * nothing is read.
 */
export function useResource<R extends ResourceName>(
  resource: R | null | undefined,
  name: (ObjectName & UseResourceOptions) | null | undefined,
): LiveResource<ObjectOf<R>>;
/** The same, with objects of the type argument. */
export function useResource<T = KubeValue>(
  resource: string | null | undefined,
  name: (ObjectName & UseResourceOptions) | null | undefined,
): LiveResource<T>;
export function useResource<T>(
  resource: string | null | undefined,
  name: (ObjectName & UseResourceOptions) | null | undefined,
): LiveResource<T> {
  const { suspense, keepPrevious, ...options } = name ?? { name: "" };
  const question = resource && name ? { kind: "store", resource, options } : undefined;
  const { snapshot, loaded, error, connection, freshness, previous } = useShared(
    question,
    (client): Store<T> => client.store<T>(question?.resource ?? "", options),
    { suspense, keepPrevious },
  );
  const object = useOverlaidObject(onlyObject(snapshot, previous ? undefined : options));
  const exists = object !== undefined;
  const { warnings = none } = snapshot ?? {};
  return { object, exists, loaded, error, connection, freshness, warnings, previous };
}

const none: readonly never[] = [];

/** Returns the object of a snapshot; the only one if the name is not known any more. */
function onlyObject<T>(
  snapshot: StoreSnapshot<T> | undefined,
  name: ObjectName | undefined,
): KubeObject<T> | undefined {
  if (!name) return snapshot?.objects.values().next().value;
  return snapshot?.objects.get(keyOf({ namespace: name.namespace ?? "", name: name.name }));
}
