import type { KubeObject, KubeValue } from "./object.js";
import { keyOf, mayBeSame, type ObjectHead } from "./objectstate.js";
import { newest } from "./version.js";
import type { WatchBatch, WatchEvent } from "./event.js";

/** The changes that one batch has made to a collection, all events combined. */
export interface Changes<V> {
  readonly added: readonly V[];
  /** In their new state. */
  readonly modified: readonly V[];
  /**
   * In their last state. An object that was deleted and recreated is in `deleted` and in
   * `added`: apply deletions first.
   */
  readonly deleted: readonly V[];
}

/**
 * The current objects of a watch. Pass it the batches of the watch; it does no I/O. This is low
 * level, for programs that store each batch with its token: `client.store` keeps a copy by itself.
 *
 * A snapshot replaces the objects atomically when it is complete: between RESET and SYNCED
 * readers see the earlier state, so that a view is never empty in between.
 *
 * An object that has not changed, that is, one with the same UID and resource version, remains the
 * same object, also in the next snapshot.
 *
 * A resumed stream has no snapshot. An object of the collection may then be added again, which
 * replaces it, and an object that is not in the collection may be deleted, which has no effect. An
 * object with another UID is not in the collection, even if one with the same name is.
 *
 * The collection can store a projection of each object instead of the object, so that a view of
 * many objects keeps only the fields that it shows.
 */
export class LiveCollection<V extends ObjectHead = KubeObject, T = KubeValue> {
  readonly #project: (object: KubeObject<T>) => V;
  readonly #listeners = new Set<(changes: Changes<V>) => void>();
  #objects = new Map<string, V>();
  /** The incomplete snapshot, between RESET and SYNCED. */
  #snapshot: Map<string, V> | undefined;
  #synced = false;
  #resourceVersion = "";
  /** The newest version of the incomplete snapshot. */
  #snapshotVersion = "";

  constructor(project: (object: KubeObject<T>) => V) {
    this.#project = project;
  }

  /** Creates a collection that stores the objects themselves. */
  static ofObjects<T = KubeValue>(): LiveCollection<KubeObject<T>, T> {
    return new LiveCollection((object) => object);
  }

  /** The objects by `keyOf`, in no particular order. */
  get objects(): ReadonlyMap<string, V> {
    return this.#objects;
  }

  /** Whether the first snapshot is complete; there are no objects before that. */
  get synced(): boolean {
    return this.#synced;
  }

  /** Whether a new snapshot is being received, which will replace the objects. */
  get resetting(): boolean {
    return this.#snapshot !== undefined;
  }

  /** The number of objects of the incomplete snapshot. */
  get arriving(): number {
    return this.#snapshot?.size ?? 0;
  }

  /**
   * The resource version of the objects; empty before the first snapshot. It decreases only
   * with a snapshot that is older.
   */
  get resourceVersion(): string {
    return this.#resourceVersion;
  }

  /** Calls the listener after each batch that changes the objects. Returns an unsubscriber. */
  subscribe(listener: (changes: Changes<V>) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Applies a batch, calls the listeners once with the changes, and returns the changes. */
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
        this.#touch(event.object, before).set(keyOf(event.object), this.#kept(event.object));
        break;
      case "MODIFIED": // even at the same version: its schema may have changed
        this.#touch(event.object, before).set(keyOf(event.object), this.#project(event.object));
        break;
      case "DELETED":
        this.#delete(event.object, before);
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

  /** Returns the map that an object belongs to. Records the visible state in `before`. */
  #touch(object: ObjectHead, before: Map<string, V | undefined>): Map<string, V> {
    if (this.#snapshot) {
      return this.#snapshot;
    }
    note(before, keyOf(object), this.#objects);
    return this.#objects;
  }

  /** Deletes an object, unless it is the predecessor of the one that is stored under its name. */
  #delete(object: ObjectHead, before: Map<string, V | undefined>): void {
    const objects = this.#touch(object, before);
    const stored = objects.get(keyOf(object));
    if (stored && mayBeSame(stored, object)) objects.delete(keyOf(object));
  }

  /** Returns what is stored for an object: the same as before if the object has not changed. */
  #kept(object: KubeObject<T>): V {
    const known = this.#objects.get(keyOf(object));
    const isSame = known?.uid === object.uid && known.resourceVersion === object.resourceVersion;
    return isSame ? known : this.#project(object);
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
        if (old !== now) modified.push(now);
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
