import type { Client, KubeObject } from "@kubeconnect/client";
import { useClient } from "@kubeconnect/client/react";
import { useEffect, useState } from "react";
import type { ManagedEntry } from "../model/managed.js";
import { nameOf, targetOf, type Target } from "../model/target.js";

/** Reads an object from the API server. */
export type ReadObject = (
  client: Client,
  target: Target,
  signal?: AbortSignal,
) => Promise<KubeObject>;

/** Reads an object with its managed fields, if the service keeps them (`--keep-managed-fields`). */
export const readLatest: ReadObject = (client, target, signal) =>
  client.get(target.resource, nameOf(target), { consistency: "latest", signal });

/**
 * Reads an object with its managed fields for a caller who may change it: every response to a write
 * has them, also to one that changes nothing and is not stored.
 */
export const readToChange: ReadObject = async (client, target, signal) => {
  const nothing = { type: "merge", body: {}, dryRun: true, signal } as const;
  try {
    return (await client.patch(target.resource, nameOf(target), nothing)).object;
  } catch {
    signal?.throwIfAborted();
    return readLatest(client, target, signal);
  }
};

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
