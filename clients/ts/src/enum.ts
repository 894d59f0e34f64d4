/** Returns the API's value of an enum name. Throws for an unknown name. */
export function valueOf<W extends string, V>(values: Readonly<Record<W, V>>, name: W): V {
  if (!Object.hasOwn(values, name)) {
    throw new TypeError(`"${name}" is not one of ${Object.keys(values).join(", ")}`);
  }
  return values[name];
}
