import { omit } from "../model/omit.js";
import { isRecord, type Path } from "./path.js";

/** A part of an OpenAPI schema. */
export interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly required?: readonly string[];
  readonly enum?: readonly unknown[];
  readonly default?: unknown;
  readonly format?: string;
  readonly allOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly $ref?: string;
  readonly "x-kubernetes-int-or-string"?: boolean;
  readonly "x-kubernetes-preserve-unknown-fields"?: boolean;
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

/** The schema of a kind, with the schemas that it refers to. */
export class KindSchema {
  readonly root: Schema;
  readonly #schemas: Readonly<Record<string, Schema>>;
  readonly #resolved = new Map<string, Schema>();

  constructor(root: Schema) {
    this.root = root;
    this.#schemas = root.components?.schemas ?? {};
  }

  /** Returns a schema with its references replaced, one level deep. */
  resolve(schema: Schema): Schema {
    let resolved = schema;
    if (schema.$ref) {
      const { $ref, ...rest } = schema;
      resolved = { ...this.#referenced($ref.slice($ref.lastIndexOf("/") + 1)), ...rest };
    }
    const parts = resolved.allOf ?? [];
    if (parts.length === 0) return resolved;
    const merged = parts.map((part) => this.resolve(part)).reduce((a, b) => ({ ...a, ...b }), {});
    return { ...merged, ...omit(resolved, "allOf") };
  }

  /** Returns a schema by its name, resolved once: schemas may refer to each other in cycles. */
  #referenced(name: string): Schema {
    const known = this.#resolved.get(name);
    if (known) return known;
    this.#resolved.set(name, {});
    const resolved = this.resolve(own(this.#schemas, name) ?? {});
    this.#resolved.set(name, resolved);
    return resolved;
  }

  /** Returns the schema of the value at a path; undefined if there is none. */
  at(path: Path): Schema | undefined {
    let schema = this.resolve(this.root);
    for (const segment of path) {
      const next = childSchema(schema, segment);
      if (!next) return undefined;
      schema = this.resolve(next);
    }
    return schema;
  }
}

/** Returns a schema by its name; undefined for a name that only all objects have. */
function own(schemas: Readonly<Record<string, Schema>>, name: string): Schema | undefined {
  return Object.hasOwn(schemas, name) ? schemas[name] : undefined;
}

/** Returns the schema of a field or of an item; undefined if the schema does not know it. */
function childSchema(schema: Schema, segment: string | number): Schema | undefined {
  if (typeof segment === "number") return schema.items;
  const property = schema.properties && own(schema.properties, segment);
  if (property) return property;
  const { additionalProperties } = schema;
  return isRecord(additionalProperties) ? additionalProperties : undefined;
}

/** Whether an object of the schema may have fields that the schema does not name. */
export function isOpen(schema: Schema): boolean {
  if (schema["x-kubernetes-preserve-unknown-fields"]) return true;
  if (schema.additionalProperties !== undefined && schema.additionalProperties !== false)
    return true;
  return schema.properties === undefined;
}

/** Returns the type of a schema as people read it: "string", "integer or string", "list of objects". */
export function typeName(schema: Schema): string {
  if (schema["x-kubernetes-int-or-string"] || schema.format === "int-or-string") {
    return "integer or string";
  }
  const types = (schema.oneOf ?? schema.anyOf ?? []).flatMap(({ type }) => type ?? []);
  if (types.length > 0) return types.join(" or ");
  return schema.type ?? (schema.properties ? "object" : "any");
}

/** Whether a value has the type of a schema. Null is a field that is not set. */
export function hasType(schema: Schema, value: unknown): boolean {
  if (value === null || value === undefined) return true;
  const name = typeName(schema);
  if (name === "any") return true;
  return name.split(" or ").some((type) => isOfType(type, value));
}

function isOfType(type: string, value: unknown): boolean {
  switch (type) {
    case "integer":
      return typeof value === "bigint" || Number.isInteger(value);
    case "number":
      return typeof value === "number";
    case "array":
      return Array.isArray(value);
    case "object":
      return isRecord(value);
    default:
      return typeof value === type;
  }
}
