/** An entry of metadata.managedFields. */
export interface ManagedEntry {
  readonly manager?: string;
  readonly operation?: string;
  readonly subresource?: string;
  /** RFC 3339. */
  readonly time?: string;
  readonly fieldsV1?: FieldSet;
}

interface FieldSet {
  readonly [key: string]: FieldSet;
}

/**
 * Returns the paths of the fields that an entry owns. Only the paths that are not parts of others:
 * "spec.replicas", "spec.containers[app].image".
 */
export function pathsOf(fields: FieldSet | undefined, path = ""): string[] {
  const entries = Object.entries(fields ?? {}).filter(([key]) => key !== ".");
  if (entries.length === 0) return path === "" ? [] : [path];
  return entries.flatMap(([key, inner]) => pathsOf(inner, path + stepOf(path, key)));
}

/** Returns a step of a path: "f:spec", `k:{"name":"app"}`, `v:"value"`, "i:3". */
function stepOf(path: string, key: string): string {
  const text = key.slice(2);
  switch (key.slice(0, 2)) {
    case "f:":
      return path === "" ? text : `.${text}`;
    case "k:":
      return `[${keyText(text)}]`;
    default:
      return `[${text}]`;
  }
}

/** Returns the values of the key of an element of a list. */
function keyText(json: string): string {
  try {
    return Object.values(JSON.parse(json) as Record<string, unknown>)
      .map(String)
      .join(", ");
  } catch {
    return json;
  }
}
