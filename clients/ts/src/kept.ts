/**
 * Returns the earlier list if the next one has the same elements; otherwise the next one. Readers
 * can then compare lists by identity.
 */
export function keptList<T>(earlier: readonly T[], next: readonly T[]): readonly T[] {
  const same =
    earlier.length === next.length && earlier.every((each, index) => each === next[index]);
  return same ? earlier : next;
}

/** Returns the earlier value if the next one has the same JSON; otherwise the next one. */
export function keptValue<T>(earlier: T | undefined, next: T): T {
  const same = earlier !== undefined && JSON.stringify(earlier) === JSON.stringify(next);
  return same ? earlier : next;
}

/**
 * Returns the earlier state if each field of the next one is the same, except the resource
 * version: a state that has not changed is also the state at a newer version.
 */
export function keptState<S extends object>(earlier: S | undefined, next: S): S {
  const fields = Object.entries(next) as [keyof S, unknown][];
  const same =
    earlier !== undefined &&
    fields.every(([field, value]) => field === "resourceVersion" || earlier[field] === value);
  return same ? earlier : next;
}
