import { keyOf, type ObjectHead } from "./objectstate.js";

/**
 * Objects in the order of their namespaces and names. Changes are collected, and the next reader
 * merges them into the list, so that reading costs no more than the size of the list. A list that
 * was returned does not change.
 */
export class SortedObjects<V extends Pick<ObjectHead, "namespace" | "name">> {
  readonly #objects = new Map<string, V>();
  /** The keys of objects that have changed since `#list`. */
  readonly #changed = new Set<string>();
  #list: readonly V[] = [];

  get size(): number {
    return this.#objects.size;
  }

  set(key: string, object: V): void {
    this.#objects.set(key, object);
    this.#changed.add(key);
  }

  delete(key: string): void {
    this.#objects.delete(key);
    this.#changed.add(key);
  }

  /** The objects in order: the same list until an object changes. */
  get list(): readonly V[] {
    if (this.#changed.size > 0) this.#list = this.#merged();
    this.#changed.clear();
    return this.#list;
  }

  #merged(): V[] {
    const changed = [...this.#changed].flatMap((key) => this.#objects.get(key) ?? []).sort(compare);
    const kept = this.#list.filter((object) => !this.#changed.has(keyOf(object)));
    const merged: V[] = [];
    let next = 0;
    for (const object of changed) {
      for (let each = kept[next]; each && compare(each, object) < 0; each = kept[++next]) {
        merged.push(each);
      }
      merged.push(object);
    }
    return merged.concat(kept.slice(next));
  }
}

/** Compares objects by namespace and name. */
function compare(
  a: Pick<ObjectHead, "namespace" | "name">,
  b: Pick<ObjectHead, "namespace" | "name">,
): number {
  if (a.namespace !== b.namespace) return a.namespace < b.namespace ? -1 : 1;
  return a.name === b.name ? 0 : a.name < b.name ? -1 : 1;
}
