import type { SortColumn, View } from "./view.js";

export type Sorting = Pick<View, "sort" | "descending">;

/** The buttons in the table's header: the first click sorts, the second reverses the order. */
export class SortHeaders {
  readonly #buttons = [...document.querySelectorAll<HTMLButtonElement>("#pods [data-sort]")];
  #sorting: Sorting = { sort: "namespace", descending: false };

  constructor(onChange: () => void) {
    for (const button of this.#buttons) {
      button.addEventListener("click", () => {
        this.#sortBy(button.dataset.sort as SortColumn);
        onChange();
      });
    }
  }

  get sorting(): Sorting {
    return this.#sorting;
  }

  #sortBy(column: SortColumn): void {
    const { sort, descending } = this.#sorting;
    this.#sorting = { sort: column, descending: sort === column && !descending };
    const order = this.#sorting.descending ? "descending" : "ascending";
    for (const button of this.#buttons) {
      const value = button.dataset.sort === column ? order : "none";
      button.closest("th")?.setAttribute("aria-sort", value);
    }
  }
}
