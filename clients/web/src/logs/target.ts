import type { KubeObject } from "@kubeconnect/client";
import type { LogsSearch } from "../model/addresses.js";
import { resourceName } from "../model/resource.js";
import type { LogQuery } from "./feed.js";

/** Returns the pods whose logs are those of an object; undefined if it has no pods of its own. */
export function podsOf(object: KubeObject): LogQuery | undefined {
  const { namespace, name, resource, value } = object;
  if (resource.plural === "pods" && resource.group === "") return { namespace, name };
  if (!(value.spec as { selector?: unknown } | undefined)?.selector) return undefined;
  return ofWorkload(resourceName(resource), namespace, name);
}

/** Returns the pods that an address of the logs page names; undefined if it names none. */
export function podsOfSearch({ of, labels, ns }: LogsSearch): LogQuery | undefined {
  const [resource, namespace, name] = of?.split("/") ?? [];
  if (resource && namespace && name) {
    const isPod = resource === "pods" || resource === "pod" || resource === "po";
    return isPod ? { namespace, name } : ofWorkload(resource, namespace, name);
  }
  if (!labels) return undefined;
  return { labelSelector: labels, ...(ns && { namespace: ns }) };
}

function ofWorkload(resource: string, namespace: string, name: string): LogQuery {
  return { namespace, related: { type: "selectedBy", resource, namespace, name } };
}
