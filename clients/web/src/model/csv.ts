/** Returns rows as CSV of RFC 4180. */
export function csv(rows: readonly (readonly string[])[]): string {
  return rows.map((row) => row.map(csvCell).join(",") + "\r\n").join("");
}

/**
 * Returns a cell of CSV. Spreadsheets read a cell that begins with one of certain characters as a
 * formula, which could be an attack by the author of an object: such a cell begins with an
 * apostrophe, as OWASP recommends. A number remains a number.
 */
export function csvCell(text: string): string {
  const isFormula = /^[=+\-@\t\r\n]/.test(text) && !/^-?\d+(\.\d+)?$/.test(text);
  const safe = isFormula ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
