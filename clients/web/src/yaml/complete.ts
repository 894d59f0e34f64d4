import { isRecord, type Path } from "./path.js";
import { typeName, type KindSchema, type Schema } from "./schema.js";

/** What can stand at a place of a text. */
export interface Suggestion {
  readonly label: string;
  /** The text to insert. */
  readonly insert: string;
  readonly detail: string;
  readonly info?: string | undefined;
}

/** The place of a cursor: a field's name or value that is being written. */
export interface Place {
  /** The object that has the field, or the field itself for a value. */
  readonly path: Path;
  readonly kind: "field" | "value";
  /** What is written already. */
  readonly prefix: string;
  /** The fields that the object has already. */
  readonly present: readonly string[];
}

interface Line {
  readonly indent: number;
  readonly key: string | undefined;
  /** Whether the line begins an item of a list. */
  readonly isItem: boolean;
  /** The column of the dash of an item. */
  readonly dash: number;
}

/**
 * Returns the place of a cursor by the indentation of the lines before it. The text does not need to
 * be valid: it is incomplete while people type.
 */
export function placeAt(text: string, offset: number): Place | undefined {
  const lines = text.split("\n");
  const before = text.slice(0, offset).split("\n");
  const number = before.length - 1;
  const written = before[number] ?? "";
  if (/^\s*#/.test(written)) return undefined;
  const value = /^(\s*(?:- +)*)([^\s:#"']+):\s+(\S*)$/.exec(written);
  const field = /^(\s*(?:- +)*)([^\s:#"']*)$/.exec(written);
  const match = value ?? field;
  if (!match) return undefined;
  const indent = match[1]?.length ?? 0;
  const parent = parentPath(lines, number, written, indent);
  if (value) {
    return {
      path: [...parent, value[2] ?? ""],
      kind: "value",
      prefix: value[3] ?? "",
      present: [],
    };
  }
  return {
    path: parent,
    kind: "field",
    prefix: field?.[2] ?? "",
    present: siblings(lines, number, indent),
  };
}

function parse(line: string): Line | undefined {
  const match = /^(\s*)((?:- +)*)(?:([^\s:#"']+):(?:\s|$)|\S|$)/.exec(line);
  if (!match || line.trim() === "" || line.trim().startsWith("#")) return undefined;
  const [, space = "", dashes = "", key] = match;
  return {
    indent: space.length + dashes.length,
    key,
    isItem: dashes !== "" || line.trim() === "-",
    dash: space.length,
  };
}

/** Returns the path of the object in which a line with this indentation is. */
function parentPath(
  lines: readonly string[],
  number: number,
  written: string,
  indent: number,
): Path {
  const path: (string | number)[] = [];
  let column = indent;
  let item = /^\s*- /.test(written) ? { dash: written.indexOf("-"), index: 0 } : undefined;
  for (let at = number - 1; at >= 0; at--) {
    const line = parse(lines[at] ?? "");
    if (!line) continue;
    if (item) {
      if (line.dash === item.dash && line.isItem) item.index++;
      else if (line.key && line.indent <= item.dash && !line.isItem) {
        path.unshift(line.key, item.index);
        column = line.indent;
        item = undefined;
      } else if (line.key && line.isItem && line.indent <= item.dash) {
        path.unshift(line.key, item.index);
        column = line.indent;
        item = { dash: line.dash, index: 0 };
      }
      continue;
    }
    if (line.isItem && line.indent === column) {
      item = { dash: line.dash, index: 0 }; // the first line of the item that the line belongs to
    } else if (line.key && line.indent < column) {
      path.unshift(line.key);
      column = line.indent;
      if (line.isItem) item = { dash: line.dash, index: 0 };
    }
  }
  return path;
}

/** Returns the fields of the same object: the lines around with the same indentation. */
function siblings(lines: readonly string[], number: number, indent: number): readonly string[] {
  const found: string[] = [];
  const own = parse(lines[number] ?? "");
  const walk = (step: 1 | -1): void => {
    if (step === -1 && own?.isItem) return;
    for (let at = number + step; at >= 0 && at < lines.length; at += step) {
      const line = parse(lines[at] ?? "");
      if (!line || line.indent > indent) continue;
      if (line.indent < indent || (line.isItem && step === 1)) return;
      if (line.key) found.push(line.key);
      if (line.isItem) return;
    }
  };
  walk(-1);
  walk(1);
  return found;
}

/** Returns what the schema allows at a place, that begins with what is written there. */
export function suggest(schema: KindSchema, place: Place): readonly Suggestion[] {
  const at = schema.at(place.path);
  if (!at) return [];
  const all = place.kind === "value" ? values(at) : fields(schema, at, place.present);
  const prefix = place.prefix.toLowerCase();
  return all.filter(({ label }) => label.toLowerCase().includes(prefix));
}

function values(schema: Schema): readonly Suggestion[] {
  const known = schema.type === "boolean" ? [true, false] : (schema.enum ?? []);
  return known.map((each) => ({
    label: String(each),
    insert: String(each),
    detail: each === schema.default ? "default" : "",
  }));
}

function fields(
  schema: KindSchema,
  parent: Schema,
  present: readonly string[],
): readonly Suggestion[] {
  const required = new Set(parent.required);
  return Object.entries(parent.properties ?? {})
    .filter(([name]) => !present.includes(name))
    .map(([name, property]) => {
      const resolved = schema.resolve(property);
      return {
        label: name,
        insert: `${name}:${isRecord(resolved.properties) || resolved.type === "array" ? "" : " "}`,
        detail: `${typeName(resolved)}${required.has(name) ? ", required" : ""}`,
        info: property.description ?? resolved.description,
      };
    });
}
