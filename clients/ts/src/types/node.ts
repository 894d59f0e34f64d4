import { propertyName, comment } from "./text.js";

/** A type. */
export type TypeNode =
  | { readonly form: "name"; readonly text: string }
  | { readonly form: "list"; readonly of: TypeNode }
  | { readonly form: "map"; readonly of: TypeNode }
  | { readonly form: "union"; readonly of: readonly TypeNode[] };

/** A property of an interface. */
export interface Property {
  readonly name: string;
  readonly description: string;
  readonly required: boolean;
  readonly type: TypeNode;
}

/** Declares a type for a part of a type that does not fit into a line, and returns its name. */
export type Hoist = (type: TypeNode, suffix: string) => TypeNode;

export const named = (text: string): TypeNode => ({ form: "name", text });
export const unknownType = named("unknown");

/** Returns the union of types, each of them once. */
export function union(types: readonly TypeNode[]): TypeNode {
  const flat = types.flatMap((type) => (type.form === "union" ? type.of : [type]));
  const distinct = [...new Map(flat.map((type) => [inline(type), type])).values()];
  const [first = named("never"), ...rest] = distinct;
  if (distinct.some((type) => inline(type) === "unknown")) return unknownType;
  return rest.length === 0 ? first : { form: "union", of: distinct };
}

/** Returns a type as text in one line. */
export function inline(type: TypeNode): string {
  switch (type.form) {
    case "name":
      return type.text;
    case "list":
      return type.of.form === "union" ? `(${inline(type.of)})[]` : `${inline(type.of)}[]`;
    case "map":
      return `Record<string, ${inline(type.of)}>`;
    case "union":
      return type.of.map(inline).join(" | ");
  }
}

/** Returns the lines of a property, as prettier formats it. */
export function propertyLines(property: Property, width: number, hoist: Hoist): string[] {
  const { name, description, required, type } = property;
  const start = `  ${propertyName(name)}${required ? "" : "?"}:`;
  return [...comment(description, "  ", width), ...typeLines(start, type, "  ", width, hoist)];
}

/** Returns the lines that begin with `start` and end with a type, as prettier formats them. */
export function typeLines(
  start: string,
  type: TypeNode,
  indent: string,
  width: number,
  hoist: Hoist,
): string[] {
  const line = `${start} ${inline(type)};`;
  if (type.form === "name" || line.length <= width) return [line];
  switch (type.form) {
    case "list":
      return [`${start} ${inline({ form: "list", of: short(type.of, "Item", hoist) })};`];
    case "map": {
      const value = typeLines(`${indent}  [name: string]:`, type.of, `${indent}  `, width, hoist);
      return [`${start} {`, ...value, `${indent}};`];
    }
    case "union": {
      const members = type.of.map((each) => inline(short(each, "Option", hoist)));
      return [start, ...members.map((each) => `${indent}  | ${each}`)].map((each, index) =>
        index === members.length ? `${each};` : each,
      );
    }
  }
}

/** Returns a type that is a name, and never needs a line of its own. */
function short(type: TypeNode, suffix: string, hoist: Hoist): TypeNode {
  return type.form === "name" ? type : hoist(type, suffix);
}
