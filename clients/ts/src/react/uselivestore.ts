import { useCallback, useSyncExternalStore } from "react";
import type { LiveStore } from "../livestore.js";
import { notLoaded, viewOf, type LiveView } from "./view.js";

/**
 * Follows a store that was created outside of the component, such as one with indexes, and renders
 * the component when its view changes. Without a store nothing is followed. On a server, and while
 * the page of a server is hydrated, no store is loaded.
 */
export function useLiveStore<S extends object>(
  store: LiveStore<S> | null | undefined,
): LiveView<S> {
  const subscribe = useCallback(
    (listener: () => void) => store?.subscribe(listener) ?? followNothing(),
    [store],
  );
  return useSyncExternalStore(
    subscribe,
    () => (store ? viewOf(store) : notLoaded),
    () => notLoaded,
  );
}

/** Subscribes to nothing. */
export function followNothing(): () => void {
  return () => undefined;
}
