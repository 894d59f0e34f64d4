/** Returns a text as a string literal of CEL. */
export function celString(text: string): string {
  return `"${text.replace(/[^ !#-[\]-~]/gu, escaped)}"`;
}

/** Returns an escape sequence that CEL knows: it has no surrogate pairs. */
function escaped(character: string): string {
  if (character === '"' || character === "\\") return `\\${character}`;
  const code = character.codePointAt(0) ?? 0;
  if (code >= 0xd800 && code <= 0xdfff) return "\\ufffd"; // half a pair is no character
  return `\\U${code.toString(16).padStart(8, "0")}`;
}

/** Returns the filter for names that contain a text. */
export function nameFilter(text: string): string {
  return `object.metadata.name.contains(${celString(text)})`;
}

/** Returns the filter for objects that match all of several filters; undefined without any. */
export function allOf(filters: readonly (string | undefined)[]): string | undefined {
  return joined(filters, " && ");
}

/** Returns the filter for objects that match one of several filters; undefined without any. */
export function anyOf(filters: readonly string[]): string | undefined {
  return joined(filters, " || ");
}

function joined(filters: readonly (string | undefined)[], operator: string): string | undefined {
  const present = filters.filter((filter) => filter !== undefined && filter.trim() !== "");
  if (present.length < 2) return present[0];
  // The line break ends a comment at the end of a filter.
  return present.map((filter) => `(${filter ?? ""}\n)`).join(operator);
}

/** An error in a filter, with its place in the text. */
export interface FilterError {
  readonly message: string;
  /** The number of characters before the error; undefined if the service does not report it. */
  readonly offset: number | undefined;
}

/**
 * Reads the service's message about a malformed filter: "filter: ERROR: <input>:LINE:COLUMN: text",
 * followed by lines that show the place. Lines and columns begin with 1.
 */
export function filterErrorOf(message: string, filter: string): FilterError {
  const match = /<input>:(\d+):(\d+): (.*)/.exec(message);
  if (!match) return { message: message.replace(/^filter: /, ""), offset: undefined };
  const lines = filter.split("\n").slice(0, Number(match[1]) - 1);
  const before = lines.reduce((sum, line) => sum + line.length + 1, 0);
  const offset = Math.min(before + Number(match[2]) - 1, filter.length);
  return { message: match[3] ?? message, offset };
}
