import { Code } from "@connectrpc/connect";
import type { Client } from "../client.js";
import type { ResourceType, SchemaResult } from "../discovery.js";
import { KubeconnectError } from "../error.js";
import { builtInGroups } from "./builtingroups.js";
import { customTypesText, type CustomResource } from "./customtypes.js";

/**
 * Returns a file with the types of resources of a cluster.
 *
 * @param resources The resources, named as in kubectl; if there are none, all that are not built-in.
 * @param warn Is called with a message for each resource whose type is missing.
 */
export async function clusterTypes(
  client: Pick<Client, "resourceTypes" | "schema">,
  resources: readonly string[],
  warn: (message: string) => void,
): Promise<string> {
  const { types, failedGroupVersions } = await client.resourceTypes();
  for (const { group, version, message } of failedGroupVersions) {
    warn(`the resources of ${group}/${version} are missing: ${message}`);
  }
  const schemas = new Map<string, SchemaResult>();
  for (const name of resources.length > 0 ? resources : customResources(types)) {
    const schema = await schemaOf(client, name, resources.length > 0 ? undefined : warn);
    if (schema !== undefined) schemas.set(fullName(schema), schema);
  }
  const sorted = [...schemas].sort(([a], [b]) => (a < b ? -1 : 1));
  return customTypesText(sorted.map(([, schema]) => withNames(schema, types)));
}

/** Returns the names of the resources whose types are not in this package. */
function customResources(types: readonly ResourceType[]): string[] {
  return types
    .filter(({ resource }) => !builtInGroups.has(resource.group))
    .map(({ resource }) => `${resource.plural}.${resource.group}`);
}

/** Returns a schema. If there is none, warns or fails. */
async function schemaOf(
  client: Pick<Client, "schema">,
  name: string,
  warn: ((message: string) => void) | undefined,
): Promise<SchemaResult | undefined> {
  try {
    return await client.schema(name);
  } catch (error) {
    if (!(error instanceof KubeconnectError)) throw error;
    const message = `the type of ${name} is missing: ${error.message}`;
    if (error.code !== Code.NotFound) throw error;
    if (warn === undefined) throw error.withMessage(message);
    warn(message);
    return undefined;
  }
}

function fullName({ resource: { group, plural, version } }: SchemaResult): string {
  return `${group} ${plural} ${version}`;
}

/** Adds the names of a resource: those that no other resource of the cluster has. */
function withNames(schema: SchemaResult, types: readonly ResourceType[]): CustomResource {
  const { group, plural, version } = schema.resource;
  const full = group === "" ? [plural] : [`${plural}.${version}.${group}`];
  const type = types.find(({ resource }) => resource.group === group && resource.plural === plural);
  // A name without a version is that of the preferred version.
  if (type?.resource.version !== version) return { ...schema, names: full };
  const others = new Set(types.filter((each) => each !== type).flatMap(namesOf));
  const short = namesOf(type).filter((name) => !others.has(name));
  const qualified = group === "" ? [] : [`${plural}.${group}`];
  return { ...schema, names: [...new Set([...short, ...qualified, ...full])] };
}

function namesOf({ resource, singular, shortNames }: ResourceType): string[] {
  return [resource.plural, singular, ...shortNames].filter((name) => name !== "");
}
