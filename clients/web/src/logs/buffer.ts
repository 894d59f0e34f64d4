import type { LineRow, NoteRow, Row } from "./row.js";

/** The rows before they have a place. */
export type NewRow = LineRow | NoteRow;

/**
 * The last rows of a log, at most `capacity`. Older ones are dropped, a tenth at a time, so that
 * adding a row does not move all others.
 */
export class RowBuffer {
  readonly #capacity: number;
  #rows: Row[] = [];
  #nextId = 0;
  #dropped = 0;

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
    for (const row of rows) this.#rows.push({ ...row, id: this.#nextId++ });
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
    return rows;
  }
}
