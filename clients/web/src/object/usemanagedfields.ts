import type { KubeObject } from "@kubeconnect/client";
import { useClient } from "@kubeconnect/client/react";
import { useEffect, useState } from "react";
import { nameOf, targetOf } from "../actions/target.js";
import type { ManagedEntry } from "../history/managed.js";

/** Changes that follow each other at once need one read. */
const pauseMs = 300;

const none: readonly ManagedEntry[] = [];

/**
 * Returns the managed fields of an object, which live objects do not have: they are read from the API
 * server after each change while they are wanted. The last ones remain if they cannot be read.
 */
export function useManagedFields(object: KubeObject, isWanted = true): readonly ManagedEntry[] {
  const client = useClient();
  const [managedFields, setManagedFields] = useState(none);
  useEffect(() => {
    if (!isWanted) return;
    const leaving = new AbortController();
    const read = async (): Promise<void> => {
      const target = targetOf(object);
      const options = { consistency: "latest", signal: leaving.signal } as const;
      const { value, uid } = await client.get(target.resource, nameOf(target), options);
      const { managedFields = none } = value.metadata as Managed;
      if (uid === object.uid) setManagedFields(managedFields);
    };
    const timer = setTimeout(() => {
      read().catch(() => undefined);
    }, pauseMs);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [client, object, isWanted]);
  return managedFields;
}

interface Managed {
  readonly managedFields?: readonly ManagedEntry[];
}
