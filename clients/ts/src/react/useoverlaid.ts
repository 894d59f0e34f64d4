import { useSyncExternalStore } from "react";
import type { KubeObject } from "../object.js";
import { overlaysOf } from "./overlays.js";
import { useClient } from "./provider.js";

/** Returns the objects with the changes of useMutation that are shown over them. */
export function useOverlaid<T>(objects: readonly KubeObject<T>[]): readonly KubeObject<T>[] {
  const overlays = overlaysOf(useClient());
  const get = (): readonly KubeObject<T>[] => overlays.over(objects);
  return useSyncExternalStore(overlays.subscribe, get, get);
}

/** Returns the object with the changes of useMutation that are shown over it. */
export function useOverlaidObject<T>(object: KubeObject<T> | undefined): KubeObject<T> | undefined {
  const overlays = overlaysOf(useClient());
  const get = (): KubeObject<T> | undefined => object && overlays.overObject(object);
  return useSyncExternalStore(overlays.subscribe, get, get);
}
