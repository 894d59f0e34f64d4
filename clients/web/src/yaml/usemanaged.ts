import type { KubeObject, KubeValue } from "@kubeconnect/client";
import { useClient } from "@kubeconnect/client/react";
import { useEffect, useMemo, useState } from "react";
import { nameOf, targetOf } from "../actions/target.js";

/**
 * Returns the value of an object with its managed fields, which live objects do not have: they are
 * read from the API server after each change while they are wanted.
 */
export function useManaged(object: KubeObject, isWanted: boolean): KubeValue {
  const client = useClient();
  const [managedFields, setManagedFields] = useState<unknown>();
  useEffect(() => {
    if (!isWanted) return;
    const leaving = new AbortController();
    const target = targetOf(object);
    const options = { consistency: "latest", signal: leaving.signal } as const;
    client.get(target.resource, nameOf(target), options).then(
      ({ value, uid }) => {
        if (uid === object.uid) setManagedFields((value.metadata as Managed).managedFields);
      },
      () => undefined, // without them the changes are shown without names
    );
    return () => {
      leaving.abort();
    };
  }, [client, object, isWanted]);
  return useMemo(() => {
    if (!managedFields) return object.value;
    return { ...object.value, metadata: { ...object.value.metadata, managedFields } };
  }, [object, managedFields]);
}

type Managed = KubeValue["metadata"] & { managedFields?: unknown };
