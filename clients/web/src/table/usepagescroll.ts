import type { KubeObject, LivePage } from "@kubeconnect/client";
import { useVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useLayoutEffect, useRef, type RefObject } from "react";
import { shiftOf, windowFor, type PlacedKeys, type Window } from "../model/pagewindow.js";
import { rowHeight } from "./row.js";

interface ScrolledPage {
  readonly page: LivePage | undefined;
  readonly items: readonly KubeObject[];
  readonly offset: number;
  readonly total: number;
}

/** The rows to render, from `first` to before `end`. */
export interface RenderedRows {
  readonly first: number;
  readonly end: number;
}

/**
 * Returns the rows of a scroller to render, and moves the page to them. When rows come or go before
 * the visible ones, it scrolls so that the visible ones stay where they are, and calls `onShift`.
 */
export function usePageScroll(
  scrollerRef: RefObject<HTMLElement | null>,
  view: ScrolledPage,
  onShift: (rows: number) => void,
): RenderedRows {
  const { page, items, offset, total } = view;
  const virtualizer = useVirtualizer({
    count: total,
    getScrollElement: () => scrollerRef.current,
    estimateSize: () => rowHeight,
    overscan: 8,
  });
  const rendered = virtualizer.getVirtualItems();
  const first = rendered[0]?.index ?? 0;
  const end = (rendered.at(-1)?.index ?? -1) + 1;

  const requested = useRef<Window & { page: LivePage | undefined }>(undefined);
  useEffect(() => {
    if (!page || end === 0) return;
    const isSame = requested.current?.page === page;
    const present = isSame && requested.current ? requested.current : { offset, limit: firstLimit };
    const next = windowFor(present, first, end, total);
    if (next !== present) page.scrollTo(next);
    requested.current = { ...next, page };
  }, [page, first, end, offset, total]);

  const placed = useRef<PlacedKeys & { page: LivePage | undefined }>(undefined);
  useLayoutEffect(() => {
    const before = placed.current;
    const after = { page, offset, keys: items.map(({ key }) => key) };
    placed.current = after;
    const element = scrollerRef.current;
    if (!element || !before || before.page !== page || element.scrollTop < rowHeight) return;
    const top = Math.floor(element.scrollTop / rowHeight);
    const bottom = top + Math.ceil(element.clientHeight / rowHeight);
    const shift = shiftOf(before, after, top, bottom);
    if (shift === 0) return;
    element.scrollTop += shift * rowHeight;
    onShift(shift);
  }, [scrollerRef, page, items, offset, onShift]);

  return { first, end };
}

/** The number of rows that a table requests first. */
export const firstLimit = 100;
