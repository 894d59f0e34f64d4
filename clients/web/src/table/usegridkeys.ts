import type { KubeObject } from "@kubeconnect/client";
import {
  useCallback,
  useEffect,
  useEffectEvent,
  useState,
  type KeyboardEvent,
  type RefObject,
} from "react";
import { rowHeight } from "./row.js";

/** The keyboard of a table. */
export interface GridKeys {
  /** The index of the active row; -1 if there is none. */
  readonly activeIndex: number;
  readonly setActive: (index: number) => void;
  readonly onKeyDown: (event: KeyboardEvent) => void;
  /** Moves the active row with the rows that have been shifted. */
  readonly onShift: (rows: number) => void;
}

interface GridActions {
  readonly onOpen: (index: number) => void;
  readonly onToggle: (index: number) => void;
  /** Called with the row from which the range is extended, and the one to which. */
  readonly onExtend: (from: number, to: number) => void;
  readonly onEscape: () => void;
}

/** Moves the active row of a table by keys, and calls the actions on it. */
export function useGridKeys(
  scrollerRef: RefObject<HTMLElement | null>,
  { items, offset, total }: { items: readonly KubeObject[]; offset: number; total: number },
  actions: GridActions,
): GridKeys {
  const [active, setActiveRow] = useState<{ index: number; key: string | undefined }>();
  // The active row is that of the object, wherever it moves within the page.
  const place = active?.key === undefined ? -1 : items.findIndex(({ key }) => key === active.key);
  const index = place >= 0 ? place + offset : (active?.index ?? -1);
  const activeIndex = Math.min(index, total - 1);

  const setActive = (next: number) => {
    setActiveRow({ index: next, key: items[next - offset]?.key });
  };
  const onShift = useCallback((rows: number) => {
    setActiveRow((row) => row && { ...row, index: row.index + rows });
  }, []);
  const moveTo = (target: number, isExtending: boolean) => {
    if (total === 0) return;
    const next = Math.max(0, Math.min(target, total - 1));
    if (isExtending) actions.onExtend(activeIndex < 0 ? next : activeIndex, next);
    setActive(next);
    if (scrollerRef.current) reveal(scrollerRef.current, next);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const isHeader = (event.target as HTMLElement).closest("[role=columnheader]") !== null;
    if (isHeader && event.key !== "Escape") return;
    const height = scrollerRef.current?.clientHeight ?? 0;
    const target = targetOf(event.key, activeIndex, Math.floor(height / rowHeight) - 2, total);
    if (target !== undefined) moveTo(target, event.shiftKey);
    else if (event.key === "Escape") actions.onEscape();
    else if (activeIndex < 0) return;
    else if (event.key === "Enter") actions.onOpen(activeIndex);
    else if (event.key === " " || event.key === "x") actions.onToggle(activeIndex);
    else return;
    event.preventDefault();
  };
  const hasNone = activeIndex < 0;
  useEntry(scrollerRef, () => {
    if (hasNone) setActive(0);
  });
  return { activeIndex, setActive, onKeyDown, onShift };
}

/** Returns the row to which a key moves; undefined for other keys. */
function targetOf(key: string, active: number, page: number, total: number): number | undefined {
  switch (key.length === 1 ? key.toLowerCase() : key) {
    case "j":
    case "ArrowDown":
      return active + 1;
    case "k":
    case "ArrowUp":
      return active - 1;
    case "PageDown":
      return active + page;
    case "PageUp":
      return active - page;
    case "Home":
      return 0;
    case "End":
      return total - 1;
    default:
      return undefined;
  }
}

/** Scrolls as little as needed for a row to be visible below the header. */
function reveal(element: HTMLElement, index: number): void {
  const top = index * rowHeight;
  const visible = element.clientHeight - 2 * rowHeight; // without the header, and the row itself
  if (top < element.scrollTop) element.scrollTop = top;
  else if (top > element.scrollTop + visible) element.scrollTop = top - visible;
}

/** Lets the user begin in the table by j, k and the arrows while nothing has the focus. */
function useEntry(scrollerRef: RefObject<HTMLElement | null>, onEnter: () => void): void {
  const enterTable = useEffectEvent(onEnter);
  useEffect(() => {
    const enter = (event: globalThis.KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (event.target !== document.body || !["j", "k", "ArrowDown"].includes(event.key)) return;
      event.preventDefault();
      scrollerRef.current?.focus();
      enterTable();
    };
    window.addEventListener("keydown", enter);
    return () => {
      window.removeEventListener("keydown", enter);
    };
  }, [scrollerRef]);
}
