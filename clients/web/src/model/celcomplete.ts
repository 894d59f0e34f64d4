import { fieldsOf, stringOf, type Fields } from "./columns/column.js";

/** A completion of a filter. */
export interface Completion {
  /** What is inserted. */
  readonly text: string;
  /** What it is: a type, or the form of a function. */
  readonly detail: string;
}

/** The completions at a place, which replace the text from `from` to the place. */
export interface Completions {
  readonly from: number;
  readonly options: readonly Completion[];
}

const functions: Record<string, readonly Completion[]> = {
  string: [
    { text: "contains(", detail: "contains(text)" },
    { text: "startsWith(", detail: "startsWith(text)" },
    { text: "endsWith(", detail: "endsWith(text)" },
    { text: "matches(", detail: "matches(pattern)" },
    { text: "size()", detail: "length" },
  ],
  array: [
    { text: "exists(x, ", detail: "one element matches" },
    { text: "all(x, ", detail: "all elements match" },
    { text: "exists_one(x, ", detail: "exactly one matches" },
    { text: "filter(x, ", detail: "elements that match" },
    { text: "map(x, ", detail: "a value of each element" },
    { text: "size()", detail: "number of elements" },
  ],
  map: [{ text: "size()", detail: "number of entries" }],
};

const globals: readonly Completion[] = [
  { text: "object", detail: "the object" },
  { text: "has(", detail: "has(object.field)" },
  { text: "size(", detail: "size(list)" },
  { text: "quantity(", detail: 'quantity("500m")' },
  { text: "timestamp(", detail: 'timestamp("2006-01-02T15:04:05Z")' },
  { text: "duration(", detail: 'duration("1h")' },
  { text: "true", detail: "boolean" },
  { text: "false", detail: "boolean" },
];

const maxOptions = 50;
const chain = /([A-Za-z_]\w*)((?:\.\w+|\[[^[\]]*\])*)\.(\w*)$/;
const macro = /([\w.[\]"'/-]+)\.(?:exists|all|exists_one|filter|map)\(\s*(\w+)\s*,/g;

/** Completes a CEL expression at a place, by the OpenAPI schema of the objects. */
export function completeCel(text: string, at: number, schema: Fields): Completions {
  const before = text.slice(0, at);
  const match = chain.exec(before);
  if (match) {
    const [, root = "", path = "", prefix = ""] = match;
    const target = schemaAt(`${root}${path}`, before, schema);
    return optionsFor(membersOf(target, schema), prefix, at);
  }
  const prefix = /[A-Za-z_]\w*$/.exec(before)?.[0] ?? "";
  const isNumber = /\d$/.test(before) && prefix === "";
  const variables = variablesOf(before).map(([name]) => ({ text: name, detail: "element" }));
  return optionsFor(isNumber || isInText(before) ? [] : [...globals, ...variables], prefix, at);
}

function optionsFor(all: readonly Completion[], prefix: string, at: number): Completions {
  const wanted = prefix.toLowerCase();
  const options = all
    .filter(({ text }) => text.toLowerCase().startsWith(wanted) && text !== prefix)
    .sort((a, b) => (a.text < b.text ? -1 : 1));
  return { from: at - prefix.length, options: options.slice(0, maxOptions) };
}

/** Reports whether a place is within a text literal. */
function isInText(before: string): boolean {
  return (before.replace(/\\./g, "").match(/"/g)?.length ?? 0) % 2 === 1;
}

/** Returns the variables of the macros before a place, with the lists that they iterate over. */
function variablesOf(before: string): readonly (readonly [string, string])[] {
  return [...before.matchAll(macro)].map(([, list = "", name = ""]) => [name, list] as const);
}

/** Returns the schema of an expression such as "object.spec.containers[0]". */
function schemaAt(expression: string, before: string, schema: Fields, depth = 0): Fields {
  const [root = "", ...steps] = expression.match(/\w+|\[[^[\]]*\]/g) ?? [];
  const list = variablesOf(before).findLast(([name]) => name === root)?.[1];
  const start =
    root === "object"
      ? resolved(schema, schema)
      : list && depth < 5
        ? elementOf(schemaAt(list, before, schema, depth + 1), schema)
        : {};
  return steps.reduce<Fields>(
    (at, step) => (step.startsWith("[") ? elementOf(at, schema) : fieldOf(at, step, schema)),
    start,
  );
}

function fieldOf(at: Fields, name: string, schema: Fields): Fields {
  const properties = fieldsOf(at.properties);
  return Object.hasOwn(properties, name)
    ? resolved(fieldsOf(properties[name]), schema)
    : elementOf(at, schema);
}

function elementOf(at: Fields, schema: Fields): Fields {
  return resolved(fieldsOf(at.items ?? at.additionalProperties), schema);
}

/** Follows references, also those within "allOf", which Kubernetes uses for defaults. */
function resolved(at: Fields, schema: Fields, depth = 0): Fields {
  const [only] = Array.isArray(at.allOf) ? at.allOf.map(fieldsOf) : [];
  const reference = stringOf(at.$ref ?? only?.$ref);
  const name = reference.split("/").at(-1) ?? "";
  if (!name || depth > 5) return at;
  const schemas = fieldsOf(fieldsOf(schema.components).schemas);
  return resolved(fieldsOf(schemas[name]), schema, depth + 1);
}

/** Returns the fields of a type, and the functions that it has. */
function membersOf(type: Fields, schema: Fields): readonly Completion[] {
  const fields = Object.entries(fieldsOf(type.properties))
    .filter(([name]) => /^[A-Za-z_]\w*$/.test(name))
    .map(([name, value]) => ({ text: name, detail: typeName(resolved(fieldsOf(value), schema)) }));
  const kind = type.additionalProperties ? "map" : stringOf(type.type);
  return [...fields, ...(functions[kind] ?? [])];
}

function typeName(type: Fields): string {
  if (type.additionalProperties) return "map";
  return type.type === "array" ? "list" : stringOf(type.type) || "any";
}
