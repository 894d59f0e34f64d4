import { keyOf, type KubeObject, type KubeValue, type ObjectHead } from "./object.js";
import { newest } from "./version.js";
import type { WatchBatch, WatchEvent } from "./watch.js";

/** What one batch has changed in a collection, all steps taken together. */
export interface Changes<V> {
  readonly added: readonly V[];
  /** In their new state. */
  readonly modified: readonly V[];
  /**
   * In their last state. An object that was replaced under its name is here and
   * in `added`: look at deletions first.
   */
  readonly deleted: readonly V[];
}

/**
 * The objects of a watch as they are now. Feed it batches; it does no I/O.
 *
 * A snapshot replaces what is held in one step, when it is complete: between
 * RESET and SYNCED readers see the state before, so a view never flickers empty.
 *
 * Where a stream is resumed there is no snapshot. Then what is held may be added
 * again, which replaces it, and what is not held may be deleted, which is nothing.
 *
 * It can hold what a function makes of each object instead of the objects, so
 * that a view of many objects keeps only the fields that it shows.
 */
export class LiveCollection<V extends ObjectHead = KubeObject, T = KubeValue> {
  readonly #project: (object: KubeObject<T>) => V;
  readonly #listeners = new Set<(changes: Changes<V>) => void>();
  #objects = new Map<string, V>();
  /** The snapshot that is coming in, between RESET and SYNCED. */
  #snapshot: Map<string, V> | undefined;
  #synced = false;
  #resourceVersion = "";
  /** The newest version of the snapshot that is coming in. */
  #snapshotVersion = "";

  constructor(project: (object: KubeObject<T>) => V) {
    this.#project = project;
  }

  /** A collection of the objects themselves. */
  static ofObjects<T = KubeValue>(): LiveCollection<KubeObject<T>, T> {
    return new LiveCollection((object) => object);
  }

  /** By `keyOf`; in no particular order. */
  get objects(): ReadonlyMap<string, V> {
    return this.#objects;
  }

  /** Whether a first snapshot is complete; before that there are no objects. */
  get synced(): boolean {
    return this.#synced;
  }

  /** Whether a snapshot is coming in that will replace what is held. */
  get resetting(): boolean {
    return this.#snapshot !== undefined;
  }

  /** How many objects of an incomplete snapshot are here. */
  get arriving(): number {
    return this.#snapshot?.size ?? 0;
  }

  /**
   * The version that the objects are at; empty before the first snapshot. It goes back only
   * with a snapshot that does.
   */
  get resourceVersion(): string {
    return this.#resourceVersion;
  }

  /** Calls the listener after each batch that has changed something. */
  subscribe(listener: (changes: Changes<V>) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Applies a batch, then tells the listeners once what has changed. */
  apply(batch: Pick<WatchBatch<T>, "events">): Changes<V> {
    const before = new Map<string, V | undefined>();
    for (const event of batch.events) {
      this.#applyEvent(event, before);
    }
    const changes = this.#changesSince(before);
    if (changes.added.length + changes.modified.length + changes.deleted.length > 0) {
      this.#listeners.forEach((listener) => {
        listener(changes);
      });
    }
    return changes;
  }

  #applyEvent(event: WatchEvent<T>, before: Map<string, V | undefined>): void {
    switch (event.type) {
      case "RESET":
        this.#snapshot = new Map();
        this.#snapshotVersion = "";
        return;
      case "SYNCED":
        this.#swap(before);
        break;
      case "ADDED":
      case "MODIFIED":
        this.#touch(event.object, before).set(keyOf(event.object), this.#project(event.object));
        break;
      case "DELETED":
        this.#touch(event.object, before).delete(keyOf(event.object));
        break;
      case "BOOKMARK":
        break;
    }
    if (this.#snapshot) {
      this.#snapshotVersion = newest(this.#snapshotVersion, event.resourceVersion);
    } else {
      this.#resourceVersion = newest(this.#resourceVersion, event.resourceVersion);
    }
  }

  /** Where an object belongs now; what readers saw of it is noted in `before`. */
  #touch(object: ObjectHead, before: Map<string, V | undefined>): Map<string, V> {
    if (this.#snapshot) {
      return this.#snapshot;
    }
    note(before, keyOf(object), this.#objects);
    return this.#objects;
  }

  #swap(before: Map<string, V | undefined>): void {
    const snapshot = this.#snapshot ?? this.#objects;
    for (const key of [...this.#objects.keys(), ...snapshot.keys()]) {
      note(before, key, this.#objects);
    }
    if (this.#snapshot) this.#resourceVersion = this.#snapshotVersion;
    this.#objects = snapshot;
    this.#snapshot = undefined;
    this.#synced = true;
  }

  #changesSince(before: ReadonlyMap<string, V | undefined>): Changes<V> {
    const added: V[] = [];
    const modified: V[] = [];
    const deleted: V[] = [];
    for (const [key, old] of before) {
      const now = this.#objects.get(key);
      if (old && now && old.uid === now.uid) {
        if (old.resourceVersion !== now.resourceVersion) modified.push(now);
        continue;
      }
      if (old) deleted.push(old);
      if (now) added.push(now);
    }
    return { added, modified, deleted };
  }
}

function note<V>(before: Map<string, V | undefined>, key: string, objects: Map<string, V>): void {
  if (!before.has(key)) {
    before.set(key, objects.get(key));
  }
}
