/** A field that differs between two states of an object. */
export interface FieldChange {
  /** "spec.containers[app].image": elements of a list with names are named. */
  readonly path: string;
  /** Undefined if the field did not exist, or does not exist any more. */
  readonly before: unknown;
  readonly after: unknown;
}

/** Paths that change with each write and say nothing. */
const uninteresting = new Set([
  "metadata.managedFields",
  "metadata.resourceVersion",
  "metadata.generation",
  "metadata.labels.pod-template-hash",
  "metadata.labels.controller-revision-hash",
]);

/** Returns the fields in which two values differ, in the order of the fields. */
export function changesBetween(before: unknown, after: unknown, path = ""): FieldChange[] {
  if (before === after || uninteresting.has(path)) return [];
  const [was, is] = [fieldsOf(before), fieldsOf(after)];
  if (!was || !is || Array.isArray(before) !== Array.isArray(after)) {
    return [{ path, before, after }];
  }
  const keys = [...new Set([...was.keys(), ...is.keys()])];
  return keys.flatMap((key) => changesBetween(was.get(key), is.get(key), path + suffix(path, key)));
}

function suffix(path: string, key: string): string {
  return key.startsWith("[") || path === "" ? key : `.${key}`;
}

/** Returns the fields of an object or the elements of a list by their keys; undefined of a value. */
function fieldsOf(value: unknown): ReadonlyMap<string, unknown> | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (!Array.isArray(value)) return new Map(Object.entries(value));
  const names = value.map((element: unknown) => nameOf(element));
  const areNames = !names.includes(undefined) && new Set(names).size === names.length;
  return new Map(
    value.map((element: unknown, index) => [`[${(areNames && names[index]) || index}]`, element]),
  );
}

/** Returns what distinguishes an element of a list, as the API server merges lists. */
function nameOf(element: unknown): string | undefined {
  const fields = (element ?? {}) as Record<string, unknown>;
  const name = fields.name ?? fields.type ?? fields.uid ?? fields.mountPath;
  return typeof name === "string" ? name : undefined;
}

/** Returns a value as it is shown in a diff. */
export function valueText(value: unknown): string {
  if (value === undefined) return "";
  return typeof value === "string" ? value : JSON.stringify(value, null, 2);
}
