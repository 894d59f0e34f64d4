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
  /** The objects of a List, each as a document. */
  readonly items: readonly string[] | undefined;
}

/** One document of a YAML text. */
export interface YamlDocument {
  readonly text: string;
  /** The number of its first line in the text, from 1. */
  readonly line: number;
}

/** The marker of the start or the end of a document. YAML allows neither within a value. */
const marker = /(?<=^|\n)(?:---|\.\.\.)(?=[ \t\r\n]|$)/;

/** Returns the documents of a YAML text, without the empty ones. */
export function splitDocuments(text: string): YamlDocument[] {
  const documents: YamlDocument[] = [];
  let line = 1;
  for (const part of text.replace(/^\uFEFF/, "").split(marker)) {
    if (linesOf(part).some(isContent)) documents.push({ text: part, line });
    line += part.split("\n").length - 1;
  }
  return documents;
}

/**
 * Reads the header of a document in block style, the style that kubectl prints. Throws a TypeError
 * if the header has another style.
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

/** The value of a field: the text after the colon, and the lines below. */
interface Field {
  readonly value: string;
  readonly lines: string[];
}

type Fields = ReadonlyMap<string, Field>;

const fieldPattern =
  /^(?!-\s)("(?:[^"\\]|\\.)*"|'(?:[^']|'')*'|[^\s"'[\]{},#&*!|>%@`].*?)\s*:(?:\s+(.*))?$/;

/** Returns the fields of a mapping in block style, without those of its values. */
function fieldsOf(lines: readonly string[]): Fields {
  const fields = new Map<string, Field>();
  const indent = indentOf(lines.find(isContent) ?? "");
  let current: Field | undefined;
  for (const line of lines) {
    if (current && belongsTo(line, indent)) current.lines.push(line);
    else if (isContent(line)) {
      const [, key, value = ""] = fieldPattern.exec(line.trim()) ?? [];
      if (key === undefined || indentOf(line) !== indent) throw unreadable(line.trim());
      current = { value: isContent(value) ? value : "", lines: [] };
      fields.set(unquoted(key), current);
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
  const value = withoutProperties(field.value);
  if (value === "") return fieldsOf(field.lines);
  const [, inner] = /^\{([^{}[\]]*)\}\s*(?:#.*)?$/.exec(value) ?? [];
  if (inner === undefined) throw unreadable(`${key}: ${value}`);
  return fieldsOf(inner.split(",").map((each) => each.trim()));
}

/** Returns the items of a list, each as a document: indented, as it is in the list. */
function itemsOf(field: Field | undefined): string[] | undefined {
  if (!field) return undefined;
  if (/^\[\s*\]$/.test(field.value)) return [];
  if (field.value !== "") throw unreadable(`items: ${field.value}`);
  const indent = indentOf(field.lines.find(isContent) ?? "");
  const items: string[][] = [];
  for (const line of field.lines) {
    if (isContent(line) && indentOf(line) === indent) items.push([line.replace("-", " ")]);
    else items.at(-1)?.push(line);
  }
  return items.map((lines) => lines.join("\n"));
}

/** Returns a value that is a text; undefined for null. */
function scalarOf(field: Field | undefined, key: string): string | undefined {
  const value = withoutProperties(field?.value ?? "");
  if (/^[*|>[{%@`]/.test(value)) throw unreadable(`${key}: ${value}`);
  const [quoted] = /^"(?:[^"\\]|\\.)*"|^'(?:[^']|'')*'/.exec(value) ?? [];
  const text = quoted === undefined ? value.replace(/\s+#.*$/, "").trim() : unquoted(quoted);
  return /^(~|null|Null|NULL|)$/.test(text) && quoted === undefined ? undefined : text;
}

function unquoted(text: string): string {
  if (text.startsWith("'")) return text.slice(1, -1).replaceAll("''", "'");
  if (!text.startsWith('"')) return text;
  try {
    return JSON.parse(text) as string;
  } catch {
    throw unreadable(text);
  }
}

/** Returns a value without its anchor and its tag. */
function withoutProperties(value: string): string {
  const rest = value.trim().replace(/^(?:[&!]\S*(?:\s+|$))+/, "");
  return isContent(rest) ? rest : "";
}

function linesOf(text: string): string[] {
  return text.split(/\r?\n/);
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

function unreadable(text: string): TypeError {
  return new TypeError(
    `cannot read ${JSON.stringify(text.slice(0, 80))}: apiVersion, kind and metadata must be in ` +
      "block style, without aliases; parse other YAML with a library and pass the objects",
  );
}
