/**
 * What a request to apply an object needs to know of its YAML. The text is sent unchanged, so that
 * a YAML library is not needed, and versions of YAML cannot differ. A wrong header cannot change
 * another object: the API server compares it with the object.
 */
export interface YamlHeader {
  readonly apiVersion: string | undefined;
  readonly kind: string | undefined;
  readonly name: string | undefined;
  readonly namespace: string | undefined;
  /** The objects of a List, each as a document. Their lines are counted from 0. */
  readonly items: readonly YamlDocument[] | undefined;
}

/** One document of a YAML text. */
export interface YamlDocument {
  readonly text: string;
  /** The number of its first line in the text, from 1. */
  readonly line: number;
}

/** The error of a document whose header cannot be read. */
export class UnreadableYaml extends TypeError {
  /** The number of the line in the document, from 0. */
  readonly line: number;

  constructor(text: string, line: number) {
    super(
      `cannot read ${JSON.stringify(text.slice(0, 80))}: apiVersion, kind and metadata must be in ` +
        "block style, without aliases; parse other YAML with a library and pass the objects",
    );
    this.line = line;
  }
}

/** The marker of the start or the end of a document. YAML allows neither within a value. */
const marker = /(?<=^|\n)(?:---|\.\.\.)(?=[ \t\r\n]|$)/;

/** Returns the documents of a YAML text, without the empty ones. */
export function splitDocuments(text: string): YamlDocument[] {
  const documents: YamlDocument[] = [];
  let line = 1;
  for (const part of text.replace(/^\uFEFF/, "").split(marker)) {
    if (linesOf(part).some(hasContent)) documents.push({ text: part, line });
    line += part.split("\n").length - 1;
  }
  return documents;
}

/**
 * Reads the header of a document in block style, the style that kubectl prints. Throws
 * UnreadableYaml if the header has another style.
 */
export function readHeader(document: string): YamlHeader {
  const fields = fieldsOf(linesOf(document));
  const metadata = mappingOf(fields.get("metadata"), "metadata");
  const text = (from: Fields, key: string) => scalarOf(from.get(key), key);
  const kind = text(fields, "kind");
  return {
    apiVersion: text(fields, "apiVersion"),
    kind,
    name: text(metadata, "name"),
    namespace: text(metadata, "namespace"),
    items: kind === "List" ? itemsOf(fields.get("items")) : undefined,
  };
}

/** A line, and its number in the document, from 0. */
interface Line {
  readonly text: string;
  readonly number: number;
}

/** The value of a field: the text after the colon, and the lines below. */
interface Field {
  readonly value: string;
  readonly number: number;
  readonly lines: Line[];
}

type Fields = ReadonlyMap<string, Field>;

const fieldPattern =
  /^(?!-\s)("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s"'[\]{},#&*!|>%@`].*?)\s*:(?:\s+(.*))?$/;

/** Returns the fields of a mapping in block style, without those of its values. */
function fieldsOf(lines: readonly Line[]): Fields {
  const fields = new Map<string, Field>();
  const indent = indentOf(lines.find(hasContent)?.text ?? "");
  let current: Field | undefined;
  for (const line of lines) {
    const { text, number } = line;
    if (current && belongsTo(text, indent)) current.lines.push(line);
    else if (isContent(text)) {
      const [, key, value = ""] = fieldPattern.exec(text.trim()) ?? [];
      if (key === undefined || indentOf(text) !== indent) {
        throw new UnreadableYaml(text.trim(), number);
      }
      current = { value: isContent(value) ? value : "", number, lines: [] };
      fields.set(unquoted(key, number), current);
    }
  }
  return fields;
}

/** Returns whether a line belongs to the field above it, of a mapping with this indentation. */
function belongsTo(line: string, indent: number): boolean {
  return !isContent(line) || indentOf(line) > indent || (indentOf(line) === indent && isItem(line));
}

/** Returns the fields of a value that is a mapping. */
function mappingOf(field: Field | undefined, key: string): Fields {
  if (!field) return new Map();
  const { number } = field;
  const value = withoutProperties(field.value);
  if (value === "") return fieldsOf(field.lines);
  const [, inner] = /^\{([^{}[\]]*)\}\s*(?:#.*)?$/.exec(value) ?? [];
  if (inner === undefined) throw new UnreadableYaml(`${key}: ${value}`, number);
  return fieldsOf(inner.split(",").map((each) => ({ text: each.trim(), number })));
}

/** Returns the items of a list, each as a document: indented, as it is in the list. */
function itemsOf(field: Field | undefined): YamlDocument[] | undefined {
  if (!field) return undefined;
  if (/^\[\s*\]$/.test(field.value)) return [];
  if (field.value !== "") throw new UnreadableYaml(`items: ${field.value}`, field.number);
  const indent = indentOf(field.lines.find(hasContent)?.text ?? "");
  const items: { readonly line: number; readonly lines: string[] }[] = [];
  for (const { text, number } of field.lines) {
    if (isContent(text) && indentOf(text) === indent) {
      items.push({ line: number, lines: [text.replace("-", " ")] });
    } else items.at(-1)?.lines.push(text);
  }
  return items.map(({ line, lines }) => ({ line, text: lines.join("\n") }));
}

/** Returns a value that is a text; undefined for null. */
function scalarOf(field: Field | undefined, key: string): string | undefined {
  const { value: whole, number } = field ?? { value: "", number: 0 };
  const value = withoutProperties(whole);
  if (/^[*|>[{%@`]/.test(value)) throw new UnreadableYaml(`${key}: ${value}`, number);
  const [quoted] = /^"(?:[^"\\]|\\.)*"|^'(?:[^']|'')*'/.exec(value) ?? [];
  const text =
    quoted === undefined ? value.replace(/\s+#.*$/, "").trim() : unquoted(quoted, number);
  return /^(~|null|Null|NULL|)$/.test(text) && quoted === undefined ? undefined : text;
}

function unquoted(text: string, number: number): string {
  if (text.startsWith("'")) return text.slice(1, -1).replaceAll("''", "'");
  if (!text.startsWith('"')) return text;
  try {
    return JSON.parse(text) as string;
  } catch {
    throw new UnreadableYaml(text, number);
  }
}

/** Returns a value without its anchor and its tag. */
function withoutProperties(value: string): string {
  const rest = value.trim().replace(/^(?:[&!]\S*(?:\s+|$))+/, "");
  return isContent(rest) ? rest : "";
}

function linesOf(text: string): Line[] {
  return text.split(/\r?\n/).map((text, number) => ({ text, number }));
}

function hasContent({ text }: Line): boolean {
  return isContent(text);
}

/** Returns whether a line is more than a comment, a directive or white space. */
function isContent(line: string): boolean {
  return !/^(\s*(#|$)|%)/.test(line);
}

function isItem(line: string): boolean {
  return /^ *-(\s|$)/.test(line);
}

function indentOf(line: string): number {
  return line.length - line.replace(/^ +/, "").length;
}
