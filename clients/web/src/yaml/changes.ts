import { isRecord, type Path } from "./path.js";

/** A difference between two values. */
export interface Change {
  readonly path: Path;
  /** Undefined if the field was added. */
  readonly before: unknown;
  /** Undefined if the field was removed. */
  readonly after: unknown;
}

/** Whether two values are equal as JSON. */
export function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((each, index) => isEqual(each, b[index]));
  }
  if (!isRecord(a) || !isRecord(b)) return false;
  const names = Object.keys(a);
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => name in b && isEqual(a[name], b[name]))
  );
}

/**
 * Returns the smallest differences between two values. Lists of equal length are compared item by
 * item; others differ as a whole if they have no names.
 */
export function changesOf(before: unknown, after: unknown, path: Path = []): readonly Change[] {
  if (isEqual(before, after)) return [];
  if (isRecord(before) && isRecord(after)) {
    const names = new Set([...Object.keys(before), ...Object.keys(after)]);
    return [...names].flatMap((name) => changesOf(before[name], after[name], [...path, name]));
  }
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    return before.flatMap((each, index) => changesOf(each, after[index], [...path, index]));
  }
  return [{ path, before, after }];
}

// Fields that the API server changes with each write.
const bookkeeping = new Set(["resourceVersion", "generation", "managedFields"]);

/** Whether a change is of a field that every write changes. */
export function isBookkeeping({ path }: Change): boolean {
  return path[0] === "metadata" && bookkeeping.has(String(path[1]));
}
