/**
 * Text of TypeScript. All of it comes from a schema, which anybody who may create a CRD can write:
 * nothing of a schema leaves a comment or a literal.
 */

/** Returns a string literal, in the quotes that need fewer escapes, as prettier does. */
export function stringLiteral(value: string): string {
  const quote = count(value, '"') > count(value, "'") ? "'" : '"';
  const escaped = value.replace(unprintable, escape).replaceAll(quote, `\\${quote}`);
  return quote + escaped + quote;
}

/** Returns a name of a property, in quotes if it is not an identifier of Latin letters. */
export function propertyName(name: string): string {
  return identifier.test(name) ? name : stringLiteral(name);
}

/** Returns words of any text as one identifier in Pascal case, which begins with a letter. */
export function pascalCase(...words: readonly string[]): string {
  const joined = words
    .flatMap((word) => word.split(/[^A-Za-z0-9]+/))
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1))
    .join("");
  return /^[A-Z]/.test(joined) ? joined : `T${joined}`;
}

/** Returns the lines of a documentation comment; none for an empty text. */
export function comment(text: string, indent: string, width: number): string[] {
  const lines = paragraphs(text).flatMap((line) =>
    wrap(line, width - indent.length - " * ".length),
  );
  const [first, ...rest] = lines;
  if (first === undefined) return [];
  const short = `${indent}/** ${first} */`;
  if (rest.length === 0 && short.length <= width) return [short];
  return [`${indent}/**`, ...lines.map((line) => `${indent} * ${line}`.trimEnd()), `${indent} */`];
}

/** Returns the lines of a text, without the empty ones at its ends, as text of a comment. */
function paragraphs(text: string): string[] {
  return text
    .replace(/\r\n?|[\p{Zl}\p{Zp}]/gu, "\n")
    .trim()
    .split("\n")
    .map((line) => commentText(line.replace(/[\s\p{C}]+/gu, " ").trim()))
    .filter((line, index, lines) => line !== "" || (lines[index - 1] ?? "") !== "");
}

/** Returns text that does not end a comment, and has no tag such as "@ts-ignore". */
function commentText(line: string): string {
  return line.replaceAll("*/", "*\\/").replace(/(^|[\s{*/])@/g, "$1\\@");
}

function wrap(line: string, width: number): string[] {
  const lines = [""];
  for (const word of line.split(" ")) {
    const last = lines.at(-1) ?? "";
    if (last === "") lines[lines.length - 1] = word;
    else if (last.length + 1 + word.length <= width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}

function count(value: string, quote: string): number {
  return value.split(quote).length - 1;
}

const identifier = /^[A-Za-z_$À-ÖØ-öø-ɏ][\wÀ-ÖØ-öø-ɏ$]*$/;

/** Backslashes, and all that an editor does not show as it is. */
const unprintable = /[\\\p{C}\p{Zl}\p{Zp}]/gu;

/**
 * Returns a text in its lines, without other characters that control a terminal: errors and warnings
 * quote texts of others.
 */
export function visible(text: string): string {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, (character) =>
    character === "\n" || character === "\t" ? character : escape(character),
  );
}

function escape(character: string): string {
  if (character === "\\") return "\\\\";
  return character
    .split("")
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`)
    .join("");
}
