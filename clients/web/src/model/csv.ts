/** Returns rows as CSV of RFC 4180. */
export function csv(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => row.map(csvCell).join(",") + "\r\n").join("");
}

/**
 * Returns a cell of CSV. Spreadsheets read a cell that begins with one of certain characters as a
 * formula, which could be an attack by the author of an object: such a cell begins with an
 * apostrophe, as OWASP recommends. A number remains a number.
 *
 * In many languages a spreadsheet separates cells by semicolons, and some versions by tabs: what follows
 * one of these may be a cell too.
 */
export function csvCell(text: string): string {
  if (/^-?\d+(\.\d+)?$/.test(text)) return text;
  const inner = text.replace(laterFormula, "$1'$2");
  const safe = firstFormula.test(inner) ? `'${inner}` : inner;
  return /[",;\t\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** The begin of a formula. Some input methods have wide forms of the characters. */
const firstFormula = /^[=+\-@\t\r\n\uff0b\uff0d\uff1d\uff20]/;
const laterFormula = /([;\t\r\n]"?)([=+\-@\uff0b\uff0d\uff1d\uff20])/g;
