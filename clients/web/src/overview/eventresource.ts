import { resourceName } from "../model/resource.js";
import { useCatalog } from "../session/catalog.js";

/** Returns the resource of the object of an event; undefined if the caller may not list it. */
export function useEventResource(apiVersion: string | undefined, kind: string): string | undefined {
  const { types } = useCatalog();
  const group = apiVersion?.includes("/") ? apiVersion.slice(0, apiVersion.indexOf("/")) : "";
  const type = types.find(({ resource }) => resource.kind === kind && resource.group === group);
  return type && resourceName(type.resource);
}
