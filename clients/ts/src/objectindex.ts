import type { Changes } from "./collection.js";
import { keyOf, type ObjectHead } from "./objectstate.js";
import { SortedObjects } from "./sortedobjects.js";

const none: readonly never[] = [];

/** The objects by the keys that a function returns for them. */
export class ObjectIndex<V extends ObjectHead> {
  readonly #keysOf: (object: V) => readonly string[];
  readonly #keys = new Map<string, ReadonlySet<string>>();
  readonly #objects = new Map<string, SortedObjects<V>>();

  constructor(keysOf: (object: V) => readonly string[]) {
    this.#keysOf = keysOf;
  }

  /** The keys that have objects. */
  get keys(): Iterable<string> {
    return this.#objects.keys();
  }

  /** Returns the objects of a key, by namespace and name: the same list until one changes. */
  get(key: string): readonly V[] {
    return this.#objects.get(key)?.list ?? none;
  }

  apply({ added, modified, deleted }: Changes<V>): void {
    for (const object of deleted) this.#remove(keyOf(object), new Set());
    for (const object of added) this.#put(object);
    for (const object of modified) this.#put(object);
  }

  #put(object: V): void {
    const name = keyOf(object);
    const keys = new Set(this.#keysOf(object));
    this.#remove(name, keys);
    for (const key of keys) {
      const objects = this.#objects.get(key) ?? new SortedObjects<V>();
      objects.set(name, object);
      this.#objects.set(key, objects);
    }
    if (keys.size > 0) this.#keys.set(name, keys);
  }

  /** Removes an object from the keys that it has no more. */
  #remove(name: string, remaining: ReadonlySet<string>): void {
    for (const key of this.#keys.get(name) ?? none) {
      if (remaining.has(key)) continue;
      const objects = this.#objects.get(key);
      objects?.delete(name);
      if (objects?.size === 0) this.#objects.delete(key);
    }
    this.#keys.delete(name);
  }
}
