import type { KubeObject } from "@kubeconnect/client";
import { useEffect, useEffectEvent, useSyncExternalStore } from "react";
import type { ActionId } from "./catalog.js";

/** The object that the page shows, for views outside of its page. */
export interface ShownObject {
  readonly object: KubeObject;
  /** Starts an action on the object, as its menu does. */
  readonly start: (action: ActionId) => void;
}

let shown: ShownObject | undefined;
const listeners = new Set<() => void>();

function show(next: ShownObject | undefined): void {
  shown = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Returns the object that the page shows; undefined if it shows none. */
export function useShownObject(): ShownObject | undefined {
  return useSyncExternalStore(subscribe, () => shown);
}

/** Makes an object the one that the page shows, while the component is rendered. */
export function useShowObject(object: KubeObject, start: (action: ActionId) => void): void {
  const onStart = useEffectEvent(start);
  useEffect(() => {
    show({
      object,
      start: (action) => {
        onStart(action);
      },
    });
    return () => {
      show(undefined);
    };
  }, [object]);
}
