import { LiveCollection, type Changes } from "./collection.js";
import { makeDisposable, type Closing } from "./disposable.js";
import { EventReader } from "./eventreader.js";
import type { WatchManyResponse } from "./gen/kubeconnect/v1/watch_pb.js";
import { keptState } from "./kept.js";
import { callListener } from "./listener.js";
import { LiveStore, type LiveStoreOptions, type LiveUpdate } from "./livestore.js";
import { required } from "./message.js";
import type { KubeObject, KubeValue, ObjectName } from "./object.js";
import { ObjectIndex } from "./objectindex.js";
import { ObjectMap } from "./objectmap.js";
import { keyOf } from "./objectstate.js";
import { watchPart, type PartRequest } from "./part.js";
import type { Source } from "./read.js";
import type { SharedStreams } from "./sharedstreams.js";
import { requestsPatches, watchFields, type WatchSelection } from "./watch.js";

/**
 * Options of a store: those of a watch, and indexes.
 *
 * `patches` is off by default. It saves bytes, but a patched object is parsed and written for each
 * change, and is in memory twice; a whole object is decoded when its value is first used. Turn it on
 * over a slow network, or select `fields`, which saves both.
 */
export interface StoreOptions<T = KubeValue> extends WatchSelection, LiveStoreOptions {
  /**
   * Functions that return the keys of an object, by the name of their index: see `byIndex`. They
   * must depend on the object only. The keys of an index with an error are empty; the error is
   * reported as uncaught.
   */
  readonly indexes?: Readonly<Record<string, (object: T) => readonly string[]>> | undefined;
}

/** The state of a store. It never changes: the next state is another object. */
export interface StoreSnapshot<T = KubeValue> {
  /** The objects by `keyOf`, in no particular order. One that has not changed is the same object. */
  readonly objects: ReadonlyMap<string, KubeObject<T>>;
  /** The version at which the objects have last changed. */
  readonly resourceVersion: string;
  readonly source: Source | undefined;
  /** The namespaces that the store covers, as in ListPage. Empty if it covers all. */
  readonly namespaces: readonly string[];
  /** Human-readable warnings, as in ListPage. */
  readonly warnings: readonly string[];
}

/** The state after a message, with what the message has changed. */
interface StoreUpdate<T> extends LiveUpdate<StoreSnapshot<T>> {
  readonly changes: Changes<KubeObject<T>>;
}

// eslint-disable-next-line @typescript-eslint/no-empty-object-type, @typescript-eslint/no-unused-vars -- what is added to the prototype below
export interface Store<T = KubeValue> extends Closing {}

/**
 * A local, indexed, live copy of a selection. It is live while it is followed: by a subscriber, by
 * an iteration, by a listener to `changes`, by a caller that awaits `ready`, and from `open` to
 * `close`. The objects remain after that, and are brought up to date when it is followed again.
 *
 * An object that has not changed remains the same object, also when the service sends a new
 * snapshot. The store is complete at any time: a new snapshot replaces the objects at once.
 */
// eslint-disable-next-line @typescript-eslint/no-unsafe-declaration-merging -- see above
export class Store<T = KubeValue> extends LiveStore<StoreSnapshot<T>, StoreUpdate<T>> {
  readonly #resource: string;
  readonly #options: StoreOptions<T>;
  readonly #reader: EventReader<T>;
  readonly #collection = LiveCollection.ofObjects<T>();
  readonly #namespaces = new ObjectIndex<KubeObject<T>>(({ namespace }) => [namespace]);
  readonly #indexes: ReadonlyMap<string, ObjectIndex<KubeObject<T>>>;
  readonly #changeListeners = new Set<(changes: Changes<KubeObject<T>>) => void>();
  #objects = ObjectMap.empty<KubeObject<T>>();
  /** All objects in order; undefined if they have changed since. */
  #list: readonly KubeObject<T>[] | undefined;
  #isWithinSnapshot = false;
  /** The changes of the last message until the listeners are called. */
  #unreported: Changes<KubeObject<T>> | undefined;
  /** Ends what `open` has begun. */
  #unfollow: (() => void) | undefined;

  static {
    makeDisposable(this.prototype);
  }

  /** @internal */
  constructor(streams: SharedStreams, resource: string, options: StoreOptions<T>) {
    super(streams, options);
    this.#resource = resource;
    this.#options = options;
    this.#reader = new EventReader(requestsPatches(options), this.info);
    this.#indexes = new Map(
      Object.entries(options.indexes ?? {}).map(([name, keysOf]) => [
        name,
        new ObjectIndex((object) => keysOfObject(object, keysOf)),
      ]),
    );
  }

  /** Whether the first snapshot is complete; there are no objects before that. */
  get synced(): boolean {
    return this.#collection.synced;
  }

  /**
   * Resolves when the first snapshot is complete, and follows the store until then. Rejects if the
   * store is rejected.
   */
  get ready(): Promise<void> {
    return this.#firstSnapshot();
  }

  /** Returns an object; undefined if it is not in the selection, or not received yet. */
  get(name: ObjectName): KubeObject<T> | undefined {
    return this.#objects.get(keyOf({ namespace: name.namespace ?? "", name: name.name }));
  }

  /**
   * Returns the objects of a namespace, or all objects, by namespace and name. The list is the same
   * until an object in it changes.
   */
  list(namespace?: string): readonly KubeObject<T>[] {
    if (namespace !== undefined) return this.#namespaces.get(namespace);
    this.#list ??= ([] as KubeObject<T>[]).concat(...this.#lists());
    return this.#list;
  }

  /**
   * Returns the objects that have a key in one of the `indexes`, by namespace and name. The list is
   * the same until an object in it changes.
   */
  byIndex(index: string, key: string): readonly KubeObject<T>[] {
    const objects = this.#indexes.get(index);
    if (!objects) throw new TypeError(`the store has no index "${index}": add it to the indexes`);
    return objects.get(key);
  }

  /**
   * Calls the listener with the differences after each message that changes the objects. A new
   * snapshot is one change, with the objects that are really different. Returns an unsubscriber.
   */
  changes(listener: (changes: Changes<KubeObject<T>>) => void): () => void {
    const call = (changes: Changes<KubeObject<T>>): void => {
      listener(changes);
    };
    this.#changeListeners.add(call);
    const unfollow = this.follow();
    return () => {
      this.#changeListeners.delete(call);
      unfollow();
    };
  }

  /**
   * Follows the store until `close`, and returns it when the first snapshot is complete. If the
   * store is rejected, it is closed, and the promise rejects.
   */
  async open(): Promise<this> {
    this.#unfollow ??= this.follow();
    this.resume();
    try {
      await this.#firstSnapshot();
    } catch (error) {
      this.close();
      throw error;
    }
    return this;
  }

  /** Ends what `open` has begun. The store remains live while it is followed otherwise. */
  close(): void {
    this.#unfollow?.();
    this.#unfollow = undefined;
  }

  protected override isWithinSnapshot(): boolean {
    return this.#isWithinSnapshot;
  }

  protected override request(resumeToken: string): PartRequest {
    this.#isWithinSnapshot = false;
    const options = { isReached: resumeToken !== "", patches: this.#reader.patches };
    return watchPart({
      ...watchFields(this.#resource, this.#options, options),
      ownResumeToken: resumeToken,
    });
  }

  protected override read(message: WatchManyResponse): StoreUpdate<T> {
    const response = required(message.response, "the response of a watch");
    const { events, resumeToken } = this.#reader.read(response, response.resumeToken);
    // A BOOKMARK without a token is sent before the snapshot, and within it.
    if (resumeToken !== "") this.#isWithinSnapshot = false;
    else if (events.some(({ type }) => type !== "BOOKMARK")) this.#isWithinSnapshot = true;
    const changes = this.#collection.apply({ events });
    this.#applyChanges(changes);
    const snapshot = this.synced ? keptState(this.snapshot, this.#current()) : undefined;
    return { snapshot, resumeToken, changes };
  }

  protected override apply(update: StoreUpdate<T>): void {
    const { added, modified, deleted } = update.changes;
    const isChanged = added.length + modified.length + deleted.length > 0;
    this.#unreported = isChanged ? update.changes : undefined;
    super.apply(update);
  }

  /** Calls the listeners, those of `changes` before the subscribers. */
  protected override notify(): void {
    const changes = this.#unreported;
    this.#unreported = undefined;
    if (changes) {
      for (const call of [...this.#changeListeners]) {
        callListener(() => {
          call(changes);
        });
      }
    }
    super.notify();
  }

  #applyChanges(changes: Changes<KubeObject<T>>): void {
    const { added, modified, deleted } = changes;
    const changed = new Map<string, KubeObject<T> | undefined>();
    for (const object of deleted) changed.set(object.key, undefined);
    for (const object of added) changed.set(object.key, object);
    for (const object of modified) changed.set(object.key, object);
    if (changed.size === 0) return;
    this.#objects = this.#objects.with(changed);
    this.#list = undefined;
    this.#namespaces.apply(changes);
    for (const index of this.#indexes.values()) index.apply(changes);
  }

  /** Returns the objects of each namespace, in order. */
  #lists(): (readonly KubeObject<T>[])[] {
    return [...this.#namespaces.keys].sort().map((each) => this.#namespaces.get(each));
  }

  #current(): StoreSnapshot<T> {
    const { source, namespaces, warnings } = this.info;
    const { resourceVersion } = this.#collection;
    return { objects: this.#objects, resourceVersion, source, namespaces, warnings };
  }

  async #firstSnapshot(): Promise<void> {
    const snapshots = this[Symbol.asyncIterator]();
    try {
      await snapshots.next();
    } finally {
      await snapshots.return(undefined as never);
    }
  }
}

/** Returns the keys of an object; none if the service could not read the object. */
function keysOfObject<T>(
  object: KubeObject<T>,
  keysOf: (value: T) => readonly string[],
): readonly string[] {
  let value: T;
  try {
    ({ value } = object);
  } catch {
    return [];
  }
  return callListener(() => keysOf(value)) ?? [];
}
