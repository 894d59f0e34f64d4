import type { LineRow, NoteRow, Row } from "./row.js";

/** The rows before they have a place. */
export type NewRow = LineRow | NoteRow;

/**
 * The last rows of a log, at most `capacity`. Older ones are dropped, a tenth at a time, so that
 * adding a row does not move all others. A note that repeats an earlier one of its container, with
 * no line between them, is counted there: a log that cannot be read is tried again and again.
 */
export class RowBuffer {
  readonly #capacity: number;
  #rows: Row[] = [];
  #nextId = 0;
  #dropped = 0;
  /** The ids of the notes by their text, since the last line of their container. */
  readonly #notes = new Map<string, Map<string, number>>();

  constructor(capacity: number) {
    this.#capacity = capacity;
  }

  /** The number of rows that were dropped. */
  get dropped(): number {
    return this.#dropped;
  }

  get size(): number {
    return Math.min(this.#rows.length, this.#capacity);
  }

  /** Adds rows at the end. */
  push(...rows: readonly NewRow[]): void {
    for (const row of rows)
      if (!this.#addToEarlier(row)) this.#rows.push({ ...row, id: this.#nextId++ });
    if (this.#rows.length > this.#capacity * 1.1) this.#rows = this.#rows.slice(-this.#capacity);
    this.#dropped = this.#nextId - this.size;
  }

  /** Returns the rows as they are now, in a list of its own. */
  rows(): readonly Row[] {
    return this.#rows.slice(-this.#capacity);
  }

  /** Removes all rows, and returns them. */
  take(): readonly Row[] {
    const rows = this.rows();
    this.#rows = [];
    this.#nextId = this.#dropped = 0;
    this.#notes.clear();
    return rows;
  }

  /** Adds a note to an earlier one that it repeats, and reports whether there is one. */
  #addToEarlier(row: NewRow): boolean {
    if (row.kind === "line") {
      this.#notes.delete(row.source);
      return false;
    }
    const notes = this.#notes.get(row.source) ?? new Map<string, number>();
    this.#notes.set(row.source, notes);
    const at = (notes.get(row.text) ?? -1) - (this.#rows[0]?.id ?? 0);
    const earlier = this.#rows[at];
    if (earlier?.kind !== "note") {
      notes.set(row.text, this.#nextId);
      return false;
    }
    this.#rows[at] = { ...earlier, times: (earlier.times ?? 1) + (row.times ?? 1) };
    return true;
  }
}
