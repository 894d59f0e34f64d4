import type { ConnectionState } from "../connection.js";
import type { KubeconnectError } from "../error.js";
import type { Freshness } from "../freshness.js";
import type { LiveStore } from "../livestore.js";

/**
 * The state of a live store at one time, for rendering. It is the same object until `snapshot`,
 * `connection`, `freshness.stale` or `error` changes, or `scrolling` of a page.
 */
export interface LiveView<S> {
  /** Undefined until the first snapshot is complete. */
  readonly snapshot: S | undefined;
  /** Whether there is a snapshot. */
  readonly loaded: boolean;
  /** Why the stream has ended; undefined while the store is current. */
  readonly error: KubeconnectError | undefined;
  /** The connection to the service; undefined on a server, and without a resource. */
  readonly connection: ConnectionState | undefined;
  /**
   * How current the snapshot is. `lastContactTime` is as of the last change of `stale`, because a
   * component does not render again for it: read `freshness` of the store for a later time.
   */
  readonly freshness: Freshness | undefined;
  /** Whether a page does not show the range of the last `scrollTo` yet. */
  readonly scrolling: boolean;
}

/** The view without a store: on a server, during hydration, and without a resource. */
export const notLoaded: LiveView<never> = {
  snapshot: undefined,
  loaded: false,
  error: undefined,
  connection: undefined,
  freshness: undefined,
  scrolling: false,
};

const views = new WeakMap<LiveStore<object>, LiveView<object>>();

/** Returns the view of a store. All readers of a store get the same one. */
export function viewOf<S extends object>(store: LiveStore<S>): LiveView<S> {
  const earlier = views.get(store) as LiveView<S> | undefined;
  const view = readView(store);
  if (earlier && isSame(earlier, view)) return earlier;
  views.set(store, view);
  return view;
}

function readView<S extends object>(store: LiveStore<S> & { scrolling?: boolean }): LiveView<S> {
  const { snapshot, error, connection, freshness, scrolling = false } = store;
  return { snapshot, loaded: snapshot !== undefined, error, connection, freshness, scrolling };
}

function isSame<S>(a: LiveView<S>, b: LiveView<S>): boolean {
  return (
    a.snapshot === b.snapshot &&
    a.error === b.error &&
    a.connection === b.connection &&
    a.freshness?.stale === b.freshness?.stale &&
    a.scrolling === b.scrolling
  );
}
