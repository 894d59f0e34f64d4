import type { Client, ResourceType } from "@kubeconnect/client";
import type { KindColumns } from "../model/columns/column.js";
import { kindColumns, plainColumns } from "../model/columns/index.js";
import { printerColumns } from "../model/columns/printer.js";
import { resourceName } from "../model/resource.js";
import { useCatalog } from "../session/catalog.js";
import { useLoaded } from "../session/useloaded.js";

/** A resource with its columns. */
export interface TableKind extends KindColumns {
  /** The name of the resource, with its group. */
  readonly resource: string;
}

/**
 * Returns the columns of a resource: those of a common kind, or the printer columns of a custom
 * resource. Undefined until they are known. A resource that does not exist has plain columns, and
 * the service says that it does not exist when it is read.
 */
export function useTableKind(resource: string): TableKind | undefined {
  const { all, loaded, error } = useCatalog();
  const type = kindColumns(resource) ? undefined : all.find((each) => isNamed(each, resource));
  const name = type ? resourceName(type.resource) : resource;
  const known = kindColumns(name);
  const printer = useLoaded(known || !type ? undefined : name, (client, signal) =>
    type ? loadPrinterColumns(client, type, signal) : Promise.resolve(plainColumns),
  );
  if (known) return { resource: name, ...known };
  const namespaced = type?.resource.namespaced ?? true;
  const columns = type || !(loaded || error) ? printer.value : plainColumns;
  return columns && { resource: name, namespaced, columns };
}

/** Reports whether a name, in the syntax of kubectl, is one of the names of a resource. */
function isNamed({ resource, singular, shortNames }: ResourceType, name: string): boolean {
  return [resourceName(resource), resource.plural, singular, ...shortNames].includes(name);
}

async function loadPrinterColumns(client: Client, { resource }: ResourceType, signal: AbortSignal) {
  const { group, version } = resource;
  if (!group.includes(".")) return plainColumns;
  const fields = ["spec.versions[*].name", "spec.versions[*].additionalPrinterColumns"];
  const definitions = "customresourcedefinitions.apiextensions.k8s.io";
  const name = resourceName(resource);
  const options = { fields, signal };
  return client.get(definitions, { name }, options).then(
    ({ value }) => printerColumns(value, version),
    () => plainColumns, // the caller may not read definitions, or an aggregated API server serves it
  );
}
