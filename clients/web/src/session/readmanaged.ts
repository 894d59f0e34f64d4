import type { Client, KubeObject } from "@kubeconnect/client";
import { nameOf, type Target } from "../model/target.js";

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
