import type { StatusCause } from "@kubeconnect/client";
import { isMap, isNode, type Document, type Node } from "yaml";
import { rangeOfPath, visitFields, type TextRange } from "./document.js";
import { formatPath, parsePath, type Path } from "./path.js";
import { hasType, isOpen, typeName, type KindSchema, type Schema } from "./schema.js";

/** Something that is wrong at a place of a text. */
export interface Problem extends TextRange {
  readonly severity: "error" | "warning";
  readonly message: string;
}

/** Returns what is wrong with a document: its syntax, and what its schema does not allow. */
export function validate(document: Document, schema: KindSchema | undefined): readonly Problem[] {
  const syntax = document.errors.map(({ pos, message }) => ({
    from: pos[0],
    to: Math.max(pos[0], pos[1]),
    severity: "error" as const,
    message: message.split("\n")[0] ?? message,
  }));
  if (syntax.length > 0 || !schema) return syntax;
  if (!isMap(document.contents)) {
    return [{ from: 0, to: 0, severity: "error", message: "The text is not an object." }];
  }
  const problems: Problem[] = [...missing(document, schema, [], document.contents)];
  visitFields(document, (path, value, name) => {
    problems.push(...checkField(document, schema, path, value, name));
  });
  return problems;
}

function checkField(
  document: Document,
  schema: KindSchema,
  path: Path,
  node: Node | null,
  name: TextRange,
): readonly Problem[] {
  const parent = schema.at(path.slice(0, -1));
  if (!parent) return []; // an unknown parent has its own problem, or is open
  const own = schema.at(path);
  if (!own) {
    if (isOpen(parent)) return [];
    return [{ ...name, severity: "error", message: unknownMessage(path, parent) }];
  }
  const value: unknown = node?.toJS(document);
  const range = valueRange(node) ?? name;
  if (!hasType(own, value)) {
    const message = `${formatPath(path)} must be ${article(typeName(own))}.`;
    return [{ ...range, severity: "error", message }];
  }
  if (own.enum && value !== null && value !== undefined && !own.enum.includes(value)) {
    const message = `${formatPath(path)} must be one of ${own.enum.join(", ")}.`;
    return [{ ...range, severity: "error", message }];
  }
  return [
    ...missing(document, schema, path, node),
    ...missingInItems(document, schema, path, node),
  ];
}

function unknownMessage(path: Path, parent: Schema): string {
  const name = String(path.at(-1));
  const similar = Object.keys(parent.properties ?? {}).find((each) => isSimilar(each, name));
  return `There is no field ${formatPath(path)}.${similar ? ` Did you mean ${similar}?` : ""}`;
}

function isSimilar(a: string, b: string): boolean {
  const plain = (text: string): string => text.toLowerCase().replace(/s$/, "");
  return (
    plain(a) === plain(b) || (b.length > 3 && plain(a).startsWith(plain(b))) || distance(a, b) <= 2
  );
}

/** Returns the number of characters to insert, remove or replace to turn one text into another. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, replaced));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}

function missing(
  document: Document,
  schema: KindSchema,
  path: Path,
  node: Node | null,
): readonly Problem[] {
  if (!isMap(node)) return [];
  const required = schema.at(path)?.required ?? [];
  return required
    .filter((name) => !node.has(name))
    .map((name) => ({
      ...rangeOfPath(document, path),
      severity: "error" as const,
      message: `${formatPath([...path, name])} is required.`,
    }));
}

function missingInItems(
  document: Document,
  schema: KindSchema,
  path: Path,
  node: Node | null,
): readonly Problem[] {
  const items = node && "items" in node && !isMap(node) ? node.items : [];
  return items.flatMap((item, index) =>
    missing(document, schema, [...path, index], isNode(item) ? item : null),
  );
}

function valueRange(node: Node | null): TextRange | undefined {
  const range = node?.range;
  return range ? { from: range[0], to: range[1] } : undefined;
}

function article(type: string): string {
  return /^[aeiou]/.test(type) ? `an ${type}` : `a ${type}`;
}

/** Returns the causes of a rejected write at the places of their fields. */
export function problemsOfCauses(
  document: Document,
  causes: readonly StatusCause[],
): readonly Problem[] {
  return causes.map(({ field, message }) => ({
    ...rangeOfPath(document, parsePath(field)),
    severity: "error",
    message: field ? `${field}: ${message}` : message,
  }));
}
