import type { Changes } from "@kubeconnect/client";
import { byId, oncePerFrame } from "./dom.js";
import { RowElement } from "./rowelement.js";
import type { Label, PodRow } from "./row.js";

/** The number of rows rendered above and below the visible ones, for scrolling. */
const overscan = 8;

/** The maximum number of simultaneous changes that are highlighted. */
const flashLimit = 200;

/**
 * The table of pods. It has elements only for visible rows, so its cost does not depend on the
 * number of pods.
 */
export class PodTable {
  readonly #table = byId("pods", HTMLTableElement);
  readonly #scroller = byId("scroller", HTMLElement);
  readonly #body = byId("pods-body", HTMLTableSectionElement);
  readonly #above = byId("pods-above", HTMLTableRowElement);
  readonly #below = byId("pods-below", HTMLTableRowElement);
  readonly #elements = new Map<string, RowElement>();
  #rows: readonly PodRow[] = [];
  #rowHeight = 0;
  readonly #schedule = oncePerFrame(() => {
    this.#render();
  });

  /** @param onEdit Called when a row's button, or one of its labels, is clicked. */
  constructor(onEdit: (row: PodRow, label?: Label) => void) {
    this.#scroller.addEventListener(
      "scroll",
      () => {
        this.#schedule();
      },
      { passive: true },
    );
    new ResizeObserver(() => {
      this.#measure();
    }).observe(this.#scroller);
    this.#body.addEventListener("click", ({ target }) => {
      const element = this.#elementAt(target);
      const edit = element?.editAt(target);
      if (element && edit) onEdit(element.row, edit.label);
    });
    this.#measure();
  }

  /** Shows these rows, in this order. */
  show(rows: readonly PodRow[]): void {
    this.#rows = rows;
    this.#table.setAttribute("aria-rowcount", String(rows.length + 1));
    this.#render();
  }

  /** Highlights the visible rows that have changed. */
  flash({ added, modified }: Changes<PodRow>): void {
    if (added.length + modified.length > flashLimit) return;
    for (const { key } of added) this.#elements.get(key)?.flash("added");
    for (const { key } of modified) this.#elements.get(key)?.flash("modified");
  }

  /** Updates the ages. */
  tick(now: number): void {
    for (const element of this.#elements.values()) element.tick(now);
  }

  scrollToTop(): void {
    this.#scroller.scrollTop = 0;
  }

  #elementAt(target: EventTarget | null): RowElement | undefined {
    const tr = target instanceof Element ? target.closest("tr") : null;
    return [...this.#elements.values()].find(({ element }) => element === tr);
  }

  #measure(): void {
    const height = getComputedStyle(this.#table).getPropertyValue("--row-height");
    this.#rowHeight = Number.parseFloat(height);
    this.#schedule();
  }

  #render(): void {
    const { scrollTop, clientHeight } = this.#scroller;
    const count = this.#rows.length;
    const fit = Math.ceil(clientHeight / this.#rowHeight) + 2 * overscan;
    const top = Math.floor(scrollTop / this.#rowHeight) - overscan;
    const first = Math.max(0, Math.min(top, count - fit));
    const last = Math.min(count, first + fit);
    this.#above.style.height = `${first * this.#rowHeight}px`;
    this.#below.style.height = `${(count - last) * this.#rowHeight}px`;
    this.#place(first, this.#rows.slice(first, last));
  }

  /** Places the rows. Reuses the elements of visible rows, which keeps focus and highlights. */
  #place(first: number, rows: readonly PodRow[]): void {
    const keys = new Set(rows.map(({ key }) => key));
    for (const [key, { element }] of this.#elements) {
      if (keys.has(key)) continue;
      element.remove();
      this.#elements.delete(key);
    }
    const now = Date.now();
    let next = this.#body.firstElementChild;
    rows.forEach((row, index) => {
      const { element } = this.#update(row, first + index, now);
      if (element === next) {
        next = next.nextElementSibling;
      } else {
        this.#body.insertBefore(element, next);
      }
    });
  }

  #update(row: PodRow, index: number, now: number): RowElement {
    let element = this.#elements.get(row.key);
    if (!element) {
      element = new RowElement(row);
      this.#elements.set(row.key, element);
    }
    element.update(row, index);
    element.tick(now);
    return element;
  }
}
