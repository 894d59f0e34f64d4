/** The API's value for a word. A misspelt one must not become the default in silence. */
export function valueOf<W extends string, V>(values: Readonly<Record<W, V>>, word: W): V {
  if (!Object.hasOwn(values, word)) {
    throw new TypeError(`"${word}" is none of ${Object.keys(values).join(", ")}`);
  }
  return values[word];
}
