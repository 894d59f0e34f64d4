import type { KubeObject, KubeValue } from "../object.js";
import type { ObjectOf, ResourceName } from "../resources.js";
import type { Store, StoreOptions, StoreSnapshot } from "../store.js";
import { useOverlaid } from "./useoverlaid.js";
import { useShared, type HookOptionsOf } from "./useshared.js";
import type { LiveView } from "./view.js";

/** Options of useList. */
export type UseListOptions = HookOptionsOf<Omit<StoreOptions, "name">>;

/** What useList returns. */
export interface LiveList<T = KubeValue> extends Omit<
  LiveView<StoreSnapshot<T>>,
  "snapshot" | "scrolling"
> {
  /**
   * The objects by namespace and name; none before the first snapshot. The list is the same until an
   * object changes, and an object that has not changed is the same object.
   */
  readonly objects: readonly KubeObject<T>[];
  /** The namespaces that the list covers, as in ListPage. Empty if it covers all. */
  readonly namespaces: readonly string[];
  /** Human-readable warnings, as in ListPage. */
  readonly warnings: readonly string[];
  /** Whether the objects are those of the earlier options: see `keepPrevious`. */
  readonly previous: boolean;
}

/**
 * Returns all objects of a selection, live. For a table of many objects use useLivePage, which reads
 * only what it shows. Without a resource nothing is read.
 */
export function useList<R extends ResourceName>(
  resource: R | null | undefined,
  options?: UseListOptions,
): LiveList<ObjectOf<R>>;
/** The same, with objects of the type argument. */
export function useList<T = KubeValue>(
  resource: string | null | undefined,
  options?: UseListOptions,
): LiveList<T>;
export function useList<T>(
  resource: string | null | undefined,
  options: UseListOptions = {},
): LiveList<T> {
  const { suspense, keepPrevious, ...selection } = options;
  const question = resource ? { kind: "store", resource, options: selection } : undefined;
  const { snapshot, store, loaded, error, connection, freshness, previous } = useShared(
    question,
    (client): Store<T> => client.store<T>(question?.resource ?? "", selection),
    { suspense, keepPrevious },
  );
  const objects = useOverlaid(sortedObjects(snapshot, store));
  const { namespaces = none, warnings = none } = snapshot ?? {};
  return { objects, loaded, error, connection, freshness, namespaces, warnings, previous };
}

const none: readonly never[] = [];

const sorted = new WeakMap<object, readonly KubeObject<unknown>[]>();

/**
 * Returns the objects of a snapshot in order: the same list for the same snapshot. The store has
 * that list, unless it has a newer snapshot already, which React does not render yet.
 */
function sortedObjects<T>(
  snapshot: StoreSnapshot<T> | undefined,
  store: Store<T> | undefined,
): readonly KubeObject<T>[] {
  if (!snapshot) return none;
  const known = sorted.get(snapshot) as readonly KubeObject<T>[] | undefined;
  if (known) return known;
  const isLast = store?.snapshot === snapshot;
  const objects = isLast ? store.list() : [...snapshot.objects.values()].sort(byNamespaceAndName);
  sorted.set(snapshot, objects);
  return objects;
}

function byNamespaceAndName(a: KubeObject<unknown>, b: KubeObject<unknown>): number {
  return compare(a.namespace, b.namespace) || compare(a.name, b.name);
}

function compare(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
