import type { KubeObject } from "@kubeconnect/client";
import { useClient } from "@kubeconnect/client/react";
import { useEffect, useState } from "react";
import { targetOf } from "../model/target.js";
import type { ManagedEntry } from "../model/managed.js";
import { readLatest, type ReadObject } from "./readmanaged.js";

/** Changes that follow each other at once need one read. */
const pauseMs = 300;

const none: readonly ManagedEntry[] = [];

/**
 * Returns the managed fields of an object, which live objects do not have: they are read from the API
 * server after each change while they are wanted. The last ones remain if they cannot be read. `read`
 * must be the same function in each render.
 */
export function useManagedFields(
  object: KubeObject,
  isWanted = true,
  read: ReadObject = readLatest,
): readonly ManagedEntry[] {
  const client = useClient();
  const [managedFields, setManagedFields] = useState(none);
  useEffect(() => {
    if (!isWanted) return;
    const leaving = new AbortController();
    const update = async (): Promise<void> => {
      const { value, uid } = await read(client, targetOf(object), leaving.signal);
      const { managedFields = none } = value.metadata as Managed;
      if (uid === object.uid) setManagedFields(managedFields);
    };
    const timer = setTimeout(() => {
      update().catch(() => undefined);
    }, pauseMs);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [client, object, isWanted, read]);
  return managedFields;
}

interface Managed {
  readonly managedFields?: readonly ManagedEntry[];
}
