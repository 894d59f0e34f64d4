import type { Row } from "./row.js";

/** A part of a text: whether it is what was searched. */
export interface Part {
  readonly text: string;
  readonly isMatch: boolean;
}

/** Splits a text at the places where it contains the needle, in upper or lower case. */
export function partsOf(text: string, needle: string): readonly Part[] {
  if (needle === "") return [{ text, isMatch: false }];
  const parts: Part[] = [];
  const [lower, wanted] = [text.toLowerCase(), needle.toLowerCase()];
  // A letter whose lower case is longer would shift all places.
  const haystack = lower.length === text.length ? lower : text;
  let begin = 0;
  for (let at = haystack.indexOf(wanted); at >= 0; at = haystack.indexOf(wanted, begin)) {
    if (at > begin) parts.push({ text: text.slice(begin, at), isMatch: false });
    begin = at + wanted.length;
    parts.push({ text: text.slice(at, begin), isMatch: true });
  }
  if (begin < text.length || parts.length === 0) {
    parts.push({ text: text.slice(begin), isMatch: false });
  }
  return parts;
}

/**
 * Finds the rows that contain a text. Rows are searched once: a later call searches only those
 * that are new, so that a search costs little while lines arrive.
 */
export class Finder {
  readonly #needle: string;
  #found: number[] = [];
  #searchedTo = 0;

  constructor(needle: string) {
    this.#needle = needle.toLowerCase();
  }

  /** Returns the ids of the rows with the text, in order. */
  in(rows: readonly Row[]): readonly number[] {
    const first = rows[0]?.id ?? 0;
    const last = rows.at(-1)?.id ?? -1;
    if (this.#needle === "") return [];
    if (last < this.#searchedTo - 1) this.#searchedTo = 0;
    const kept = this.#searchedTo === 0 ? [] : this.#found.filter((id) => id >= first);
    const added = rows
      .slice(Math.max(0, this.#searchedTo - first))
      .filter((row) => this.#isIn(row));
    if (added.length > 0 || kept.length !== this.#found.length) {
      this.#found = [...kept, ...added.map(({ id }) => id)];
    }
    this.#searchedTo = last + 1;
    return this.#found;
  }

  #isIn({ text }: Row): boolean {
    return text.toLowerCase().includes(this.#needle);
  }
}

/** Returns the match after the present one, or before it, going round at the ends. */
export function nextMatch(
  found: readonly number[],
  present: number | undefined,
  direction: 1 | -1,
): number | undefined {
  if (found.length === 0) return undefined;
  if (direction === 1) return found.find((id) => id > (present ?? -1)) ?? found[0];
  return found.findLast((id) => id < (present ?? Infinity)) ?? found.at(-1);
}
