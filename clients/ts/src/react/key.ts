/**
 * Returns a text that is the same for equal options: questions are compared by value, so that
 * options can be object literals. Fields that are undefined are left out, and the order of fields
 * has no meaning.
 *
 * @throws TypeError if the options contain a function or an object of a class.
 */
export function stableKey(question: object): string {
  return JSON.stringify(question, comparable);
}

/** Sorts the fields of an object, for JSON.stringify, which passes the object as `this`. */
function comparable(this: unknown, field: string, converted: unknown): unknown {
  const value = (this as Record<string, unknown>)[field];
  if (typeof value === "bigint") return { bigint: value.toString() };
  if (typeof value === "function") throw incomparable(field, "a function");
  if (typeof value !== "object" || value === null || Array.isArray(value)) return converted;
  if (!isPlain(value)) throw incomparable(field, `an object of class ${value.constructor.name}`);
  return Object.fromEntries(Object.entries(value).sort(byField));
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

function byField([a]: [string, unknown], [b]: [string, unknown]): number {
  return a < b ? -1 : 1;
}

function incomparable(field: string, kind: string): TypeError {
  return new TypeError(
    `the option "${field}" is ${kind}, and options of hooks are compared by value: ` +
      `create a store with the client outside of the component, and pass it to useLiveStore`,
  );
}
