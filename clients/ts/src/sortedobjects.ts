import type { ObjectHead } from "./objectstate.js";

type Name = Pick<ObjectHead, "namespace" | "name">;

/**
 * Objects in the order of their namespaces and names. Changes are collected until the list is read.
 * Few changes are then made to a copy of the list; after many the objects are sorted. A list that was
 * returned does not change.
 */
export class SortedObjects<V extends Name> {
  readonly #objects = new Map<string, V>();
  /** The objects that have changed since `#list`, in any of their states. */
  readonly #changed = new Map<string, V>();
  #list: readonly V[] = [];

  get size(): number {
    return this.#objects.size;
  }

  set(key: string, object: V): void {
    this.#objects.set(key, object);
    this.#changed.set(key, object);
  }

  delete(key: string): void {
    const object = this.#objects.get(key);
    if (object === undefined) return;
    this.#objects.delete(key);
    this.#changed.set(key, object);
  }

  /** The objects in order: the same list until an object changes. */
  get list(): readonly V[] {
    if (this.#changed.size > 0) this.#list = this.#sorted();
    this.#changed.clear();
    return this.#list;
  }

  #sorted(): V[] {
    if (this.#changed.size > this.#list.length / 8) {
      return [...this.#objects.values()].sort(compare);
    }
    const list = this.#list.slice();
    for (const [key, changed] of this.#changed) {
      const index = placeOf(changed, list);
      const known = list[index];
      const isListed = known !== undefined && compare(known, changed) === 0;
      const now = this.#objects.get(key);
      list.splice(index, isListed ? 1 : 0, ...(now ? [now] : []));
    }
    return list;
  }
}

/** Returns the number of objects of a list that are before an object, by binary search. */
function placeOf(object: Name, list: readonly Name[]): number {
  let [first, last] = [0, list.length];
  while (first < last) {
    const middle = (first + last) >> 1;
    const each = list[middle];
    if (each && compare(each, object) < 0) first = middle + 1;
    else last = middle;
  }
  return first;
}

/** Compares objects by namespace and name. */
function compare(a: Name, b: Name): number {
  if (a.namespace !== b.namespace) return a.namespace < b.namespace ? -1 : 1;
  return a.name === b.name ? 0 : a.name < b.name ? -1 : 1;
}
