/** Where a row is placed when the list scrolls to it; "nearest" scrolls only if it is not visible. */
export type Align = "start" | "center" | "end" | "nearest";

/** Rows from `first` to before `end`. */
export interface Range {
  readonly first: number;
  readonly end: number;
}

/** The visible part of a list, in pixels. */
export interface Viewport {
  readonly top: number;
  readonly height: number;
}

/** Returns the rows of one height that are at least partly visible. */
export function visibleRows(viewport: Viewport, rowHeight: number, count: number): Range {
  const first = Math.floor(viewport.top / rowHeight);
  const end = Math.ceil((viewport.top + viewport.height) / rowHeight);
  return { first: Math.max(0, Math.min(first, count)), end: Math.max(0, Math.min(end, count)) };
}

/** Returns a range with further rows before and after it, as far as there are some. */
export function withMargin({ first, end }: Range, margin: number, count: number): Range {
  return { first: Math.max(0, first - margin), end: Math.min(count, end + margin) };
}

/** Returns the top of the viewport that shows a row. The browser limits it to the list. */
export function topFor(index: number, align: Align, rowHeight: number, viewport: Viewport): number {
  const start = index * rowHeight;
  const last = start + rowHeight - viewport.height; // the row is at the end of the viewport
  switch (align) {
    case "start":
      return start;
    case "center":
      return (start + last) / 2;
    case "end":
      return last;
    case "nearest":
      return Math.max(last, Math.min(start, viewport.top));
  }
}
