import {
  Code,
  KubeconnectError,
  type Client,
  type DeleteResult,
  type PropagationPolicy,
} from "@kubeconnect/client";
import { nameOf, type Target } from "../model/target.js";

/** How to delete an object. */
export interface Deletion {
  readonly propagationPolicy?: PropagationPolicy | undefined;
  /** In seconds; the kind's own without it. */
  readonly gracePeriodSeconds?: number | undefined;
  /** Deletes only the object with this UID, not a later one of the same name. */
  readonly uid?: string | undefined;
}

/** Deletes an object. */
export function remove(
  client: Client,
  target: Target,
  deletion: Deletion = {},
): Promise<DeleteResult> {
  return client.delete(target.resource, nameOf(target), deletion);
}

/** The number of objects of a resource that a deletion takes along. */
export interface Dependents {
  readonly resource: string;
  /** Undefined if the caller may not count them. */
  readonly count: number | undefined;
}

const warnings: Readonly<Record<string, string>> = {
  namespaces:
    "Everything in the namespace is deleted, also what is not counted here. This cannot be undone.",
  "customresourcedefinitions.apiextensions.k8s.io":
    "All objects of this kind are deleted, too. This cannot be undone.",
  persistentvolumeclaims:
    "Its volume, with the data, is deleted if the reclaim policy is Delete. This cannot be undone.",
};

/** Returns what cannot be seen from the number of dependents; undefined for most resources. */
export function deletionWarning({ resource }: Target): string | undefined {
  return warnings[resource];
}

const pods = "pods";
/** The resources of which objects are owned, by the resource of the owner. */
const owned: Record<string, readonly string[]> = {
  "deployments.apps": ["replicasets.apps", pods],
  "replicasets.apps": [pods],
  "statefulsets.apps": [pods, "controllerrevisions.apps"],
  "daemonsets.apps": [pods, "controllerrevisions.apps"],
  "jobs.batch": [pods],
  "cronjobs.batch": ["jobs.batch", pods],
  services: ["endpointslices.discovery.k8s.io"],
  nodes: ["leases.coordination.k8s.io"],
};
/** The resources that controllers of custom resources create most. */
const usual = [
  "deployments.apps",
  "statefulsets.apps",
  "daemonsets.apps",
  "replicasets.apps",
  "jobs.batch",
  pods,
  "services",
  "configmaps",
  "secrets",
  "persistentvolumeclaims",
];
/** The resources that own nothing. */
const alone = new Set([pods, "configmaps", "secrets", "events", "endpointslices.discovery.k8s.io"]);

/**
 * Counts what deleting an object takes along, of the resources that its kind usually owns. For a
 * namespace these are the objects in it.
 */
export async function countDependents(
  client: Client,
  target: Target,
  signal?: AbortSignal,
): Promise<readonly Dependents[]> {
  if (alone.has(target.resource)) return [];
  const resources = owned[target.resource] ?? usual;
  const counts = await Promise.all(
    resources.map(async (resource) => ({
      resource,
      count: await countOne(client, target, resource, signal),
    })),
  );
  return counts.filter(({ count }) => count !== 0);
}

async function countOne(
  client: Client,
  target: Target,
  resource: string,
  signal: AbortSignal | undefined,
): Promise<number | undefined> {
  const selection =
    target.resource === "namespaces"
      ? { namespace: target.name }
      : {
          namespace: target.namespace,
          related: { type: "ownedBy", transitive: true, ...target } as const,
        };
  try {
    return (await client.count(resource, { ...selection, signal })).total;
  } catch (error) {
    signal?.throwIfAborted();
    if (KubeconnectError.from(error).code === Code.PermissionDenied) return undefined;
    throw error;
  }
}
