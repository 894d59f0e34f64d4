import {
  KubeconnectError,
  type AccessCheck,
  type AccessDecision,
  type Client,
  type ResourceType,
} from "@kubeconnect/client";
import { resourceName } from "../model/resource.js";
import { useLoaded, type Loaded } from "./useloaded.js";

/** The maximum number of checks in a call. */
const batch = 100;

/** In how many namespaces permissions are checked for a caller that may not read all of them. */
const maxNamespaces = 3;

/** What the caller may list. */
export interface Listable {
  /** The types, in the order of the service. */
  readonly types: readonly ResourceType[];
  /** The namespaces that a caller may read who may not read all; empty for other callers. */
  readonly namespaces: readonly string[];
}

/**
 * Returns the types whose objects the caller may list: in the namespace, or without one in all
 * namespaces, or else in one of the namespaces that the service finds readable.
 */
export async function listable(
  client: Client,
  types: readonly ResourceType[],
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<Listable> {
  const here = await allowed(client, types, namespace, signal);
  const isRestricted = !types.some(({ resource }) => isPods(resource) && here.has("pods"));
  const namespaces = isRestricted ? await readableNamespaces(client, signal) : [];
  const inSome = namespace === undefined ? namespaces.slice(0, maxNamespaces) : [];
  const namespaced = types.filter(({ resource }) => resource.namespaced);
  for (const each of inSome) {
    for (const name of await allowed(client, namespaced, each, signal)) here.add(name);
  }
  return { types: types.filter(({ resource }) => here.has(resourceName(resource))), namespaces };
}

function isPods({ group, plural }: ResourceType["resource"]): boolean {
  return group === "" && plural === "pods";
}

async function allowed(
  client: Client,
  types: readonly ResourceType[],
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<Set<string>> {
  const found = new Set<string>();
  for (let start = 0; start < types.length; start += batch) {
    const names = types.slice(start, start + batch).map(({ resource }) => ({
      verb: "list",
      resource: resourceName(resource),
      ...(resource.namespaced && namespace && { namespace }),
    }));
    const decisions = await client.checkAccess(names, { signal });
    for (const [index, { resource }] of names.entries()) {
      if (decisions[index]?.allowed) found.add(resource);
    }
  }
  return found;
}

/** Returns the namespaces whose pods the caller may list; none if the service knows of none. */
async function readableNamespaces(client: Client, signal: AbortSignal): Promise<readonly string[]> {
  try {
    return (await client.count("pods", { signal })).namespaces;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof KubeconnectError) return [];
    throw error;
  }
}

/** Checks permissions of the caller, in one call. The checks are compared by value. */
export function useAccess(checks: readonly AccessCheck[]): Loaded<readonly AccessDecision[]> {
  return useLoaded(JSON.stringify(checks), (client, signal) =>
    client.checkAccess(checks, { signal }),
  );
}
