import type { Client } from "../client.js";
import type { LiveStore, LiveStoreOptions } from "../livestore.js";
import type { KubeObject, KubeValue } from "../object.js";
import type { Source } from "../read.js";
import type { WatchSelection } from "../watch.js";

/** Options of a store: those of a watch. */
export interface StoreOptions extends WatchSelection, LiveStoreOptions {}

/** The state of a store. */
export interface StoreSnapshot<T = KubeValue> {
  readonly objects: ReadonlyMap<string, KubeObject<T>>;
  readonly resourceVersion: string;
  readonly source: Source | undefined;
  readonly namespaces: readonly string[];
  readonly warnings: readonly string[];
}

/** A live copy of a selection. */
export interface Store<T = KubeValue> extends LiveStore<StoreSnapshot<T>> {
  list(namespace?: string): readonly KubeObject<T>[];
}

/** Creates a store. */
export function storeOf<T>(client: Client, resource: string, options: StoreOptions): Store<T> {
  const stores = client as unknown as {
    store(resource: string, options: StoreOptions): Store<T>;
  };
  return stores.store(resource, options);
}
