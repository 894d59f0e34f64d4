import type { KubeObject } from "@kubeconnect/client";
import { cellOf } from "./columns/cell.js";
import type { Column } from "./columns/column.js";

/** What to mark of a row. */
export interface Mark {
  /** Distinguishes the marks of a row, so that a second change is marked again. */
  readonly sequence: number;
  /** The columns whose cells have changed; undefined for a row that is new. */
  readonly columns: ReadonlySet<string> | undefined;
  /** When the mark ends, in milliseconds. */
  readonly until: number;
}

/** How long a change is marked, in milliseconds. The style sheet has the same duration. */
export const markDuration = 1500;

interface Page {
  /** Distinguishes pages: what is different on another one has not changed. */
  readonly page?: unknown;
  readonly items: readonly KubeObject[];
  readonly offset: number;
  readonly total: number;
}

/**
 * Finds out what has changed from one state of a page to the next one. Nothing is marked for the
 * first state, and no rows that come into the page because it was scrolled.
 */
export class ChangeTracker {
  readonly #columns: readonly Column[];
  readonly #now: () => number;
  #page: Page | undefined;
  #objects = new Map<string, KubeObject>();
  #marks: ReadonlyMap<string, Mark> = new Map();
  #sequence = 0;

  /** `now` returns the time in milliseconds. */
  constructor(columns: readonly Column[], now: () => number = Date.now) {
    this.#columns = columns;
    this.#now = now;
  }

  /** Returns the marks of a page by the keys of its rows. The same page has the same marks. */
  marksOf(page: Page): ReadonlyMap<string, Mark> {
    if (this.#page?.items === page.items) return this.#marks;
    if (this.#page?.page !== page.page) this.#reset();
    const earlier = this.#page;
    const now = this.#now();
    const marks = new Map([...this.#marks].filter(([, { until }]) => until > now));
    if (earlier) {
      const until = now + markDuration;
      const isEntering = this.#enteringRows(earlier, page);
      for (const [index, object] of page.items.entries()) {
        const columns = this.#changedColumns(object);
        const isNew = columns === undefined && isEntering(index);
        if (!isNew && !columns?.size) continue;
        marks.set(object.key, { sequence: ++this.#sequence, columns, until });
      }
    }
    this.#page = page;
    this.#objects = new Map(page.items.map((object) => [object.key, object]));
    this.#marks = marks;
    return marks;
  }

  #reset(): void {
    this.#page = undefined;
    this.#objects = new Map();
    this.#marks = new Map();
  }

  /** Returns the columns of an object that have changed; undefined if the object is not known. */
  #changedColumns(object: KubeObject): ReadonlySet<string> | undefined {
    const known = this.#objects.get(object.key);
    if (known === object) return unchanged;
    if (known?.uid !== object.uid) return undefined;
    const changed = this.#columns.filter((column) => {
      const [a, b] = [cellOf(column, known), cellOf(column, object)];
      return a.text !== b.text || a.tone !== b.tone;
    });
    return new Set(changed.map(({ id }) => id));
  }

  /**
   * Returns a test whether an unknown row has entered the page by itself: it has known rows on both
   * sides, or the begin or end of the table. A row at the edge may have been moved there by others.
   */
  #enteringRows(earlier: Page, { items, offset, total }: Page): (index: number) => boolean {
    if (earlier.offset !== offset) return () => false;
    const isKnown = items.map(({ key }) => this.#objects.has(key));
    const first = offset === 0 ? 0 : isKnown.indexOf(true);
    const hadEnd = earlier.offset + earlier.items.length >= earlier.total;
    const hasEnd = hadEnd && offset + items.length >= total;
    const last = hasEnd ? items.length - 1 : isKnown.lastIndexOf(true);
    return (index) => index >= first && index <= last;
  }
}

const unchanged: ReadonlySet<string> = new Set();
