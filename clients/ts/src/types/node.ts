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
  if (line.length <= width) return [line];
  switch (type.form) {
    case "name":
      return oneLine(start, type, indent);
    case "list":
      return oneLine(start, { form: "list", of: short(type.of, "Item", hoist) }, indent);
    case "map": {
      const value = inline(short(type.of, "Value", hoist));
      return [`${start} Record<`, `${indent}  string,`, `${indent}  ${value}`, `${indent}>;`];
    }
    case "union":
      return unionLines(start, type.of, indent, width, hoist);
  }
}

/** Returns the lines of a type that has no place for a break. An alias has one before the type. */
function oneLine(start: string, type: TypeNode, indent: string): string[] {
  const text = `${inline(type)};`;
  return start.endsWith("=") ? [start, `${indent}  ${text}`] : [`${start} ${text}`];
}

/** Returns the lines of a union that does not fit into the line that it begins in. */
function unionLines(
  start: string,
  types: readonly TypeNode[],
  indent: string,
  width: number,
  hoist: Hoist,
): string[] {
  const line = `${indent}  ${types.map(inline).join(" | ")};`;
  const isNullable = types.length === 2 && types.some(isNull) && types.some(isReference);
  if (line.length <= width && !isNullable) return [start, line];
  const members = types.map((type) => short(type, "Option", hoist));
  if (isNullable) return oneLine(start, { form: "union", of: members }, indent);
  const lines = members.map((member) => `${indent}  | ${inline(member)}`);
  return [start, ...lines.slice(0, -1), `${lines.at(-1) ?? ""};`];
}

function isNull(type: TypeNode): boolean {
  return inline(type) === "null";
}

/** Returns whether a type is the name of a type, or has one. Prettier breaks no line before it. */
function isReference(type: TypeNode): boolean {
  return type.form === "map" || /^(metav1\.)?[A-Z]/.test(inline(type));
}

/** Returns a type that is a name, and never needs a line of its own. */
function short(type: TypeNode, suffix: string, hoist: Hoist): TypeNode {
  return type.form === "name" ? type : hoist(type, suffix);
}
