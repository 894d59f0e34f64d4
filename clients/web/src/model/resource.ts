import type { ObjectName, Resource } from "@kubeconnect/client";

/** Returns the name of a resource in the syntax of kubectl and of addresses: "pods", "deployments.apps". */
export function resourceName({ plural, group }: Pick<Resource, "plural" | "group">): string {
  return group ? `${plural}.${group}` : plural;
}

/** Returns the name of a resource without its group, for people. */
export function pluralOf(resource: string): string {
  return resource.split(".", 1).join("");
}

/** The segment of an address for the namespace of a cluster-scoped object. */
export const noNamespace = "-";

/** Returns the parameters of the address of an object. */
export function objectParams(resource: string, { namespace, name }: ObjectName) {
  return { resource, namespace: namespace || noNamespace, name };
}

/** Returns the name of the object of an address. */
export function nameOfParams(params: { namespace: string; name: string }): ObjectName {
  const { namespace, name } = params;
  return namespace === noNamespace ? { name } : { namespace, name };
}
