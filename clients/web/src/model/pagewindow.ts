/** A part of the rows of a table. */
export interface Window {
  /** The index of the first row. */
  readonly offset: number;
  /** The number of rows. */
  readonly limit: number;
}

/** Returns how many rows to request for a number of visible ones: half of them are around these. */
export function limitFor(visible: number): number {
  return Math.min(500, Math.max(100, Math.ceil((visible * 2) / 50) * 50));
}

/**
 * Returns the window to request for the rows that are visible, from `first` to before `end`. It is
 * the present one while that has the visible rows and some on both sides of them, so that a short
 * scroll requests nothing.
 */
export function windowFor(present: Window, first: number, end: number, total: number): Window {
  const limit = Math.max(present.limit, limitFor(end - first));
  const margin = Math.floor((limit - (end - first)) / 4);
  const presentEnd = present.offset + present.limit;
  const hasBefore = present.offset <= Math.max(0, first - margin);
  const hasAfter = presentEnd >= Math.min(total, end + margin);
  if (limit === present.limit && hasBefore && hasAfter) return present;
  const centered = Math.floor((first + end - limit) / 2);
  return { offset: Math.max(0, Math.min(centered, total - limit)), limit };
}

/** The keys of consecutive rows, and the index of the first one. */
export interface PlacedKeys {
  readonly offset: number;
  readonly keys: readonly string[];
}

/**
 * Returns by how many rows the visible rows have moved between two states of a table: what most of
 * them have moved by. A table scrolls by that, so that what people read stays where it is when rows
 * before it come or go.
 */
export function shiftOf(before: PlacedKeys, after: PlacedKeys, first: number, end: number): number {
  const places = new Map(after.keys.map((key, index) => [key, index + after.offset]));
  const votes = new Map<number, number>();
  for (let row = Math.max(first, before.offset); row < end; row++) {
    const place = places.get(before.keys[row - before.offset] ?? "");
    if (place !== undefined) votes.set(place - row, (votes.get(place - row) ?? 0) + 1);
  }
  const [shift] = [...votes].sort(([a, x], [b, y]) => y - x || Math.abs(a) - Math.abs(b))[0] ?? [0];
  return shift;
}
