import type { KubeObject, ObjectName } from "@kubeconnect/client";
import { resourceName } from "./resource.js";

/** The object of an action. */
export interface Target extends ObjectName {
  /** Named as in kubectl: "deployments.apps". */
  readonly resource: string;
}

/** Returns an object as the target of an action. */
export function targetOf({ resource, namespace, name }: KubeObject): Target {
  return { resource: resourceName(resource), namespace: namespace || undefined, name };
}

/** Returns the namespace and the name of a target, for calls. */
export function nameOf({ namespace, name }: Target): ObjectName {
  return { namespace, name };
}
