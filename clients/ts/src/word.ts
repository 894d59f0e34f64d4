/** Returns the API's value of an enum name. Throws for an unknown name. */
export function valueOf<W extends string, V>(values: Readonly<Record<W, V>>, word: W): V {
  if (!Object.hasOwn(values, word)) {
    throw new TypeError(`"${word}" is not one of ${Object.keys(values).join(", ")}`);
  }
  return values[word];
}
