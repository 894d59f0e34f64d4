import {
  inline,
  named,
  propertyLines,
  typeLines,
  union,
  unknownType,
  type Property,
  type TypeNode,
} from "./node.js";
import { isOpen, listOf, objectOf, refName, textOf, type Schema } from "./schema.js";
import { comment, pascalCase, stringLiteral } from "./text.js";

/** How the declarations of a file are written. */
export interface DeclarationsOptions {
  /** The maximum length of a line. */
  readonly width: number;
  /**
   * Returns the type for a referenced schema that is declared elsewhere, such as
   * "metav1.ObjectMeta"; undefined for one to declare in this file.
   */
  readonly external: (ref: string) => string | undefined;
  /** Returns a referenced schema. */
  readonly referenced: (ref: string) => unknown;
}

/** The kind of an object. */
export interface Kind {
  readonly apiVersion: string;
  readonly kind: string;
  /** The type of its metadata; undefined for that of the schema. */
  readonly metadata: string | undefined;
}

/** The depth of a schema from which values are unknown. No real schema has it. */
const maxDepth = 60;

/**
 * The interfaces of one file, which are declared while schemas are converted. Each object of a
 * schema has an interface of its own. Its name is that of the enclosing interface and the field.
 */
export class Declarations {
  readonly #options: DeclarationsOptions;
  /** The text of each declaration, by its name, in the order of the names' first use. */
  readonly #declared = new Map<string, readonly string[]>();
  /** The names of the types of referenced schemas. */
  readonly #refs = new Map<string, TypeNode>();

  constructor(options: DeclarationsOptions) {
    this.#options = options;
  }

  /** The declarations. */
  get text(): string {
    const declared = [...this.#declared.values()].filter((lines) => lines.length > 0);
    return declared.map((lines) => lines.join("\n")).join("\n\n");
  }

  /** Begins a document: a reference of an earlier one may be to another schema of the same name. */
  startDocument(): void {
    this.#refs.clear();
  }

  /** Declares a schema that is referenced, and returns its type. */
  ref(ref: string, depth = 0): TypeNode {
    const external = this.#options.external(ref);
    if (external !== undefined) return named(external);
    const known = this.#refs.get(ref);
    if (known !== undefined) return known;
    const schema = objectOf(this.#options.referenced(ref));
    const type = named(this.reserve(pascalCase(ref.slice(ref.lastIndexOf(".") + 1))));
    // An interface can refer to itself. The other types cannot.
    this.#refs.set(ref, isInterface(schema) ? type : unknownType);
    this.declare(inline(type), schema, undefined, depth);
    this.#refs.set(ref, type);
    return type;
  }

  /** Returns a name that no other declaration has: the first one that is free, or with a number. */
  reserve(...names: readonly string[]): string {
    const isFree = (name: string) => !this.#declared.has(name) && !globalNames.has(name);
    const [first = "T"] = names;
    let reserved = names.find(isFree);
    for (let number = 2; reserved === undefined; number++) {
      reserved = [`${first}${number}`].find(isFree);
    }
    this.#declared.set(reserved, []);
    return reserved;
  }

  /** Declares a schema under a reserved name. */
  declare(name: string, schema: Schema, kind?: Kind, depth = 0): void {
    const { width } = this.#options;
    const description = comment(textOf(schema.description), "", width);
    const body =
      kind !== undefined || isInterface(schema)
        ? this.#interface(name, schema, kind, depth)
        : this.#alias(name, this.#type(schema, name, depth));
    this.#declared.set(name, [...description, ...body]);
  }

  #interface(name: string, schema: Schema, kind: Kind | undefined, depth: number): string[] {
    const { width } = this.#options;
    const properties = this.#properties(name, schema, kind, depth);
    const lines = properties.flatMap((property) =>
      propertyLines(property, width, (type, suffix) =>
        this.#hoist(pascalCase(name, property.name, suffix), type),
      ),
    );
    if (isOpen(schema)) lines.push("  [field: string]: unknown;");
    // An interface is not assignable to KubeValue, which has an index signature. A type is.
    return kind === undefined
      ? [`export interface ${name} {`, ...lines, "}"]
      : [`export type ${name} = {`, ...lines, "};"];
  }

  #alias(name: string, type: TypeNode): string[] {
    return typeLines(`export type ${name} =`, type, "", this.#options.width, (part, suffix) =>
      this.#hoist(pascalCase(name, suffix), part),
    );
  }

  #hoist(wanted: string, type: TypeNode): TypeNode {
    const name = this.reserve(wanted);
    this.#declared.set(name, this.#alias(name, type));
    return named(name);
  }

  #properties(name: string, schema: Schema, kind: Kind | undefined, depth: number): Property[] {
    const required = new Set(listOf(schema.required));
    const fixed = kind === undefined ? [] : kindProperties(kind);
    const others = Object.entries(objectOf(schema.properties))
      .filter(([field]) => !fixed.some((property) => property.name === field))
      .map(([field, value]) => ({
        name: field,
        description: textOf(objectOf(value).description),
        required: required.has(field),
        type: this.#nested(value, pascalCase(name, field), depth),
      }));
    return [...fixed, ...others];
  }

  /** Returns the type of a part of a schema, which is null too if the part is nullable. */
  #nested(value: unknown, name: string, depth: number): TypeNode {
    if (depth > maxDepth) return unknownType;
    const schema = objectOf(value);
    const type = this.#type(schema, name, depth + 1);
    return schema.nullable === true ? union([type, named("null")]) : type;
  }

  #type(schema: Schema, name: string, depth: number): TypeNode {
    const ref = refName(schema);
    if (ref !== "") return this.ref(ref, depth);
    const all = listOf(schema.allOf);
    if (all.length === 1 && schema.properties === undefined && schema.type === undefined) {
      return this.#nested(all[0], name, depth);
    }
    if (isIntOrString(schema)) return this.#intOrString();
    const values = listOf(schema.enum);
    if (values.length > 0) return union(values.map(literal));
    const types = listOf(schema.type);
    if (types.length > 0) {
      return union(types.map((type) => this.#type({ ...schema, type }, name, depth)));
    }
    return this.#ofType(schema, name, depth);
  }

  #ofType(schema: Schema, name: string, depth: number): TypeNode {
    switch (schema.type) {
      case "string":
      case "boolean":
      case "number":
      case "null":
        return named(schema.type);
      case "integer":
        return named("number");
      case "array":
        return { form: "list", of: this.#nested(schema.items, singular(name), depth) };
      case "object":
        return this.#object(schema, name, depth);
      case undefined:
        return this.#untyped(schema, name, depth);
      default:
        return unknownType;
    }
  }

  #object(schema: Schema, name: string, depth: number): TypeNode {
    if (isInterface(schema)) {
      const reserved = this.reserve(name);
      this.declare(reserved, schema, undefined, depth);
      return named(reserved);
    }
    const { additionalProperties } = schema;
    const values = additionalProperties === true ? undefined : additionalProperties;
    return { form: "map", of: this.#nested(values, `${name}Value`, depth) };
  }

  #untyped(schema: Schema, name: string, depth: number): TypeNode {
    if (isInterface(schema)) return this.#object(schema, name, depth);
    const options = [...listOf(schema.oneOf), ...listOf(schema.anyOf)];
    if (options.length === 0) return unknownType;
    return union(options.map((option) => this.#nested(option, name, depth)));
  }

  #intOrString(): TypeNode {
    const name = this.#options.external("io.k8s.apimachinery.pkg.util.intstr.IntOrString");
    return name === undefined ? union([named("number"), named("string")]) : named(name);
  }
}

/** Returns the properties of a kind that do not depend on its schema. */
function kindProperties({ apiVersion, kind, metadata }: Kind): Property[] {
  const properties = [
    { name: "apiVersion", type: named(stringLiteral(apiVersion)) },
    { name: "kind", type: named(stringLiteral(kind)) },
    ...(metadata === undefined ? [] : [{ name: "metadata", type: named(metadata) }]),
  ];
  return properties.map((property) => ({ ...property, description: "", required: true }));
}

/** Returns whether a schema has an interface: it names fields. */
function isInterface(schema: Schema): boolean {
  const { type } = schema;
  const isObject = type === "object" || type === undefined;
  return isObject && Object.keys(objectOf(schema.properties)).length > 0;
}

function isIntOrString(schema: Schema): boolean {
  return schema["x-kubernetes-int-or-string"] === true || schema.format === "int-or-string";
}

function literal(value: unknown): TypeNode {
  switch (typeof value) {
    case "string":
      return named(stringLiteral(value));
    case "boolean":
      return named(String(value));
    case "number":
      return named(Number.isFinite(value) ? String(value).replace("e+", "e") : "number");
    default:
      return value === null ? named("null") : unknownType;
  }
}

/** Returns the name of the items of a list: "Ports" has items "Port". */
function singular(name: string): string {
  if (name.endsWith("ies")) return `${name.slice(0, -3)}y`;
  if (/(ss|x|ch)es$/.test(name)) return name.slice(0, -2);
  return /[^su]s$/.test(name) ? name.slice(0, -1) : `${name}Item`;
}

/** Global types that a declaration must not hide. */
const globalNames = new Set(["Record"]);
