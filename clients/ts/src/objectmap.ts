/**
 * An immutable map of objects by their keys. A map with changes shares what has not changed with the
 * earlier map, so that a change of a large map costs little:
 *
 *     map ── shards ──▶ [0] {a, f}   [1] {b}      [2] {c, d} …
 *                        │            │ copied      │
 *     map with b2 ────▶ [0]          [1] {b2}     [2] …
 */
export class ObjectMap<V> implements ReadonlyMap<string, V> {
  readonly size: number;
  readonly #shards: readonly ReadonlyMap<string, V>[];

  private constructor(shards: readonly ReadonlyMap<string, V>[], size: number) {
    this.#shards = shards;
    this.size = size;
  }

  /** Returns a map without objects. */
  static empty<V>(): ObjectMap<V> {
    return new ObjectMap<V>(new Array<ReadonlyMap<string, V>>(shardCount).fill(new Map()), 0);
  }

  /** Returns a map with other objects at some keys, and without those that are undefined. */
  with(changes: ReadonlyMap<string, V | undefined>): ObjectMap<V> {
    if (changes.size === 0) return this;
    const shards = [...this.#shards];
    const copies = new Map<number, Map<string, V>>();
    let { size } = this;
    for (const [key, value] of changes) {
      const index = shardOf(key);
      const shard = copies.get(index) ?? new Map(shards[index]);
      size -= shard.size;
      if (value === undefined) shard.delete(key);
      else shard.set(key, value);
      size += shard.size;
      copies.set(index, shard);
      shards[index] = shard;
    }
    return new ObjectMap(shards, size);
  }

  get(key: string): V | undefined {
    return this.#shards[shardOf(key)]?.get(key);
  }

  has(key: string): boolean {
    return this.#shards[shardOf(key)]?.has(key) ?? false;
  }

  forEach(visit: (value: V, key: string, map: ReadonlyMap<string, V>) => void): void {
    for (const [key, value] of this) visit(value, key, this);
  }

  *entries(): MapIterator<[string, V]> {
    for (const shard of this.#shards) yield* shard;
  }

  *keys(): MapIterator<string> {
    for (const shard of this.#shards) yield* shard.keys();
  }

  *values(): MapIterator<V> {
    for (const shard of this.#shards) yield* shard.values();
  }

  [Symbol.iterator](): MapIterator<[string, V]> {
    return this.entries();
  }
}

const shardCount = 256;

/** Returns the shard of a key, by the FNV-1a hash. */
function shardOf(key: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < key.length; at++) {
    hash = Math.imul(hash ^ key.charCodeAt(at), 0x01000193);
  }
  return (hash ^ (hash >>> 16)) & (shardCount - 1);
}
