/** How well a text matches what was typed. */
export interface FuzzyMatch {
  /** Higher is better. */
  readonly score: number;
  /** The places of the typed characters in the text, in order. */
  readonly positions: readonly number[];
}

/**
 * Matches a text that has all characters of the query in their order, regardless of case. Best are
 * characters in one piece, then at the begins of words; of equal matches the shorter text.
 */
export function fuzzyMatch(query: string, text: string): FuzzyMatch | undefined {
  const wanted = query.toLowerCase().replaceAll(" ", "");
  if (wanted === "") return { score: 0, positions: [] };
  const lower = text.toLowerCase();
  let best: FuzzyMatch | undefined;
  for (let start = lower.indexOf(wanted.charAt(0)); start >= 0;) {
    const match = matchFrom(wanted, lower, text, start);
    if (!match) break; // neither has a later start the remaining characters
    if (!best || match.score > best.score) best = match;
    start = lower.indexOf(wanted.charAt(0), start + 1);
  }
  return best;
}

function matchFrom(
  wanted: string,
  lower: string,
  text: string,
  start: number,
): FuzzyMatch | undefined {
  const positions = [start];
  for (const character of wanted.slice(1)) {
    const next = lower.indexOf(character, (positions.at(-1) ?? 0) + 1);
    if (next < 0) return undefined;
    positions.push(next);
  }
  return { score: scoreOf(positions, text), positions };
}

function scoreOf(positions: readonly number[], text: string): number {
  let score = -text.length / 100;
  for (const [index, position] of positions.entries()) {
    const before = positions[index - 1];
    if (before === position - 1) score += 3;
    else if (isWordStart(text, position)) score += 2;
    else score -= 1;
    if (position === 0) score += 2;
  }
  return score;
}

/** Whether a word begins here: after a separator, or with the capital letter of a kind's name. */
function isWordStart(text: string, position: number): boolean {
  if (position === 0) return true;
  const character = text.charAt(position);
  return /[^a-zA-Z0-9]/.test(text.charAt(position - 1)) || /[A-Z]/.test(character);
}

/** Returns the items that match, the best first; items of equal score remain in their order. */
export function fuzzyRank<T>(
  query: string,
  items: readonly T[],
  texts: (item: T) => readonly string[],
): T[] {
  const found = items.flatMap((item) => {
    const scores = texts(item).flatMap((text) => fuzzyMatch(query, text)?.score ?? []);
    return scores.length > 0 ? [{ item, score: Math.max(...scores) }] : [];
  });
  return found.sort((a, b) => b.score - a.score).map(({ item }) => item);
}
