/**
 * Returns the newer of two resource versions of one resource: the second one, unless both
 * can be compared and the first is greater. An empty second version is ignored.
 */
export function newest(known: string, next: string): string {
  if (!decimal.test(known) || !decimal.test(next)) {
    return next || known;
  }
  // As numbers they may be too large, and a BigInt costs ten times as much.
  const isGreater = known.length === next.length ? known > next : known.length > next.length;
  return isGreater ? known : next;
}

/** The format of versions that can be compared. */
const decimal = /^[1-9][0-9]*$/;
