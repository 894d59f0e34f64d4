/**
 * Reads an OpenAPI v3 schema whose parts may have any form: a part of a wrong form is missing.
 */

/** A schema, or any other JSON object. */
export type Schema = Readonly<Record<string, unknown>>;

/** Returns a value if it is a JSON object, and an empty object otherwise. */
export function objectOf(value: unknown): Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Schema)
    : {};
}

/** Returns the elements of a value if it is a list. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** Returns a value if it is a string, and an empty string otherwise. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Returns the name of the schema that "$ref" refers to; "" for other references. */
export function refName(schema: Schema): string {
  const prefix = "#/components/schemas/";
  const ref = textOf(schema.$ref);
  return ref.startsWith(prefix) ? ref.slice(prefix.length) : "";
}

/** Returns whether a schema allows fields that it does not name. */
export function isOpen(schema: Schema): boolean {
  const { additionalProperties } = schema;
  const allowed = additionalProperties !== undefined && additionalProperties !== false;
  return schema["x-kubernetes-preserve-unknown-fields"] === true || allowed;
}
