import { useVirtualizer } from "@tanstack/react-virtual";
import { useCallback, useLayoutEffect, useState, type RefObject } from "react";
import { topFor, visibleRows, withMargin, type Align, type Range } from "./range.js";
import type { Row } from "./row.js";

/** The height in pixels of a row that is not wrapped, as in the style sheet. */
export const rowHeight = 20;

/** The rows that are rendered before and after the visible ones. */
const margin = 20;

/** Which rows of a long list are in the document, and where. */
export interface RowWindow {
  /** The height of all rows. */
  readonly height: number;
  readonly placed: readonly { readonly index: number; readonly start: number }[];
  /** The first visible row. */
  readonly first: number;
  /** Measures a row; undefined if all rows have the same height. */
  readonly measure: ((element: HTMLElement | null) => void) | undefined;
  readonly scrollTo: (index: number, align: Align) => void;
}

type Scroller = RefObject<HTMLElement | null>;

/** The window of rows that all have the same height, so that nothing is measured. */
export function useFixedRows(scrollerRef: Scroller, count: number): RowWindow {
  const [visible, setVisible] = useState<Range>({ first: 0, end: 0 });
  const update = useCallback(() => {
    const element = scrollerRef.current;
    if (!element) return;
    const next = visibleRows(viewportOf(element), rowHeight, Number.MAX_SAFE_INTEGER);
    setVisible((before) => (isSame(before, next) ? before : next));
  }, [scrollerRef]);
  useLayoutEffect(() => {
    const element = scrollerRef.current;
    if (!element) return;
    const observer = new ResizeObserver(update); // called first when it begins to observe
    observer.observe(element);
    element.addEventListener("scroll", update, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", update);
    };
  }, [scrollerRef, update]);
  const scrollTo = useCallback(
    (index: number, align: Align) => {
      const element = scrollerRef.current;
      if (!element) return;
      element.scrollTop = topFor(index, align, rowHeight, viewportOf(element));
      update(); // the scroll event comes after the next paint
    },
    [scrollerRef, update],
  );
  const { first, end } = withMargin(visible, margin, count);
  const placed = Array.from({ length: Math.max(0, end - first) }, (_, at) => ({
    index: first + at,
    start: (first + at) * rowHeight,
  }));
  return { height: count * rowHeight, placed, first: visible.first, measure: undefined, scrollTo };
}

function viewportOf({ scrollTop, clientHeight }: HTMLElement) {
  return { top: scrollTop, height: clientHeight };
}

function isSame(a: Range, b: Range): boolean {
  return a.first === b.first && a.end === b.end;
}

/** The window of rows that are wrapped: those that have been visible are measured. */
export function useMeasuredRows(scrollerRef: Scroller, rows: readonly Row[]): RowWindow {
  // The virtualizer places all rows again when this function is another one.
  const getItemKey = useCallback((index: number) => rows[index]?.id ?? index, [rows]);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scrollerRef.current,
    estimateSize,
    getItemKey,
    overscan: margin,
  });
  const scrollTo = useCallback(
    (index: number, align: Align) => {
      virtual.scrollToIndex(index, { align: align === "nearest" ? "auto" : align });
    },
    [virtual],
  );
  return {
    height: virtual.getTotalSize(),
    placed: virtual.getVirtualItems(),
    first: virtual.range?.startIndex ?? 0,
    measure: virtual.measureElement,
    scrollTo,
  };
}

const estimateSize = () => rowHeight;
