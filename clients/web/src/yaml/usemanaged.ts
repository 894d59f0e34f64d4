import type { KubeObject, KubeValue } from "@kubeconnect/client";
import { useMemo } from "react";
import type { ReadObject } from "../session/managedfields.js";
import { useManagedFields } from "../session/managedfields.js";

/** Returns the value of an object, with its managed fields as soon as they are wanted and read. */
export function useManaged(object: KubeObject, isWanted: boolean, read?: ReadObject): KubeValue {
  const managedFields = useManagedFields(object, isWanted, read);
  return useMemo(() => {
    if (managedFields.length === 0) return object.value;
    return withManagedFields(object.value, managedFields);
  }, [object, managedFields]);
}

function withManagedFields(value: KubeValue, managedFields: unknown): KubeValue {
  const metadata: object = { ...value.metadata, managedFields };
  return { ...value, metadata: metadata as KubeValue["metadata"] };
}
