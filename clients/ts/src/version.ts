/**
 * Returns the newer of two resource versions of one resource: the second one, unless both
 * can be compared and the first is greater.
 */
export function newest(held: string, next: string): string {
  if (!decimal.test(held) || !decimal.test(next)) {
    return next || held;
  }
  return BigInt(held) > BigInt(next) ? held : next;
}

/** Versions without this form cannot be compared. */
const decimal = /^[1-9][0-9]*$/;
