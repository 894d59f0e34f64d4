import type { Client } from "../client.js";
import type { GetOptions } from "../get.js";
import { kindResource } from "../kindresource.js";
import type { KubeObject } from "../object.js";
import { Scopes } from "../scopes.js";

/** A reference to an object that owns another one. */
export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

/** Options of ownerChain, and of its reads. */
export interface OwnerChainOptions extends Pick<
  GetOptions,
  "signal" | "headers" | "timeoutMs" | "metadataOnly" | "fields" | "consistency"
> {
  /** The largest number of owners to read. Default: 10. */
  readonly limit?: number | undefined;
}

/** Returns the references to the owners of an object. */
export function ownersOf(object: object): readonly OwnerReference[] {
  const { metadata } = object as {
    readonly metadata?: { readonly ownerReferences?: readonly OwnerReference[] };
  };
  return metadata?.ownerReferences ?? [];
}

/** Returns the reference to the owner that controls an object; undefined if there is none. */
export function controllerOf(object: object): OwnerReference | undefined {
  return ownersOf(object).find(({ controller }) => controller);
}

/**
 * Returns the controller of an object, the controller of that, and so on: a ReplicaSet and a
 * Deployment for a pod. The chain ends at an object without a controller, at one whose controller no
 * longer exists or has been replaced, at an object that is in the chain already, and at the limit.
 */
export async function ownerChain(
  client: Pick<Client, "get" | "resourceTypes">,
  object: KubeObject<object>,
  { limit = 10, ...options }: OwnerChainOptions = {},
): Promise<KubeObject<object>[]> {
  const scopes = new Scopes(client, options);
  const seen = new Set([object.uid]);
  const chain: KubeObject<object>[] = [];
  let current: KubeObject<object> | undefined = object;
  while (current && chain.length < limit) {
    const owner = controllerOf(current.value);
    current =
      owner && !seen.has(owner.uid)
        ? await read(client, scopes, current, owner, options)
        : undefined;
    if (current) chain.push(current);
    if (owner) seen.add(owner.uid);
  }
  return chain;
}

/** Returns the owner of an object; undefined if it does not exist any more. */
async function read(
  client: Pick<Client, "get">,
  scopes: Scopes,
  owned: KubeObject<object>,
  { apiVersion, kind, name, uid }: OwnerReference,
  options: OwnerChainOptions,
): Promise<KubeObject<object> | undefined> {
  const { group, resource } = kindResource(apiVersion, kind);
  const namespace = await scopes.namespaceFor({ group, kind }, owned.namespace);
  try {
    const found = await client.get<object>(resource, { namespace, name }, options);
    return found.uid === uid ? found : undefined;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Whether an error is a NotFoundError: by its name, so that the helpers need no other code. */
function isNotFound(error: unknown): boolean {
  return error instanceof Error && error.name === "NotFoundError";
}
