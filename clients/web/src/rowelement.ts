import { age } from "./age.js";
import { make, setText } from "./dom.js";
import type { Label, PodRow } from "./row.js";

/** The element of one row. It exists while the row is visible. */
export class RowElement {
  readonly element = make("tr", { role: "row" });
  readonly #namespace = cell("namespace");
  readonly #name = make("th", { className: "name", role: "rowheader" });
  readonly #ready = cell("ready");
  readonly #status = cell("status");
  readonly #restarts = cell("restarts");
  readonly #age = cell("age");
  readonly #node = cell("node");
  readonly #chips = make("div", { className: "chips" });
  readonly #edit = make("button", { className: "edit" });
  #row: PodRow | undefined;

  constructor(row: PodRow) {
    this.#name.scope = "row";
    this.#edit.type = "button";
    this.#edit.append(pencil());
    const labels = cell("labels");
    labels.append(make("div", { className: "labels-line" }, this.#chips, this.#edit));
    this.element.append(
      this.#namespace,
      this.#name,
      this.#ready,
      this.#status,
      this.#restarts,
      this.#age,
      this.#node,
      labels,
    );
    this.#fill(row);
  }

  get row(): PodRow {
    if (!this.#row) throw new Error("the row has not been filled");
    return this.#row;
  }

  update(row: PodRow, index: number): void {
    // The header is row 1.
    this.element.setAttribute("aria-rowindex", String(index + 2));
    if (row !== this.#row) this.#fill(row);
  }

  tick(now: number): void {
    const { createdAt } = this.row;
    setText(this.#age, createdAt === undefined ? "–" : age(createdAt, now));
  }

  flash(kind: "added" | "modified"): void {
    this.element.animate(
      [{ backgroundColor: `var(--flash-${kind})` }, { backgroundColor: "transparent" }],
      { duration: 1600, easing: "ease-out" },
    );
  }

  /** Returns the label to edit after a click on the target: one of the labels, or any. */
  editAt(target: EventTarget | null): { label?: Label } | undefined {
    if (!(target instanceof Element)) return undefined;
    if (target.closest(".edit")) return {};
    const chip = target.closest(".chip");
    const label = chip && this.row.labels[[...this.#chips.children].indexOf(chip)];
    return label ? { label } : undefined;
  }

  #fill(row: PodRow): void {
    const { namespace, name, createdAt } = row;
    this.element.dataset.namespace = namespace;
    this.element.dataset.name = name;
    this.element.dataset.tone = row.tone;
    fill(this.#namespace, namespace);
    fill(this.#name, name);
    setText(this.#ready, `${row.ready}/${row.containers}`);
    this.#ready.classList.toggle("lacking", row.tone !== "done" && row.ready < row.containers);
    fill(this.#status, row.status);
    setText(this.#restarts, String(row.restarts));
    this.#restarts.classList.toggle("some", row.restarts > 0);
    this.#age.title = createdAt === undefined ? "" : new Date(createdAt).toLocaleString();
    fill(this.#node, row.node || "–");
    if (!sameLabels(row, this.#row)) this.#fillLabels(row);
    this.#row = row;
  }

  #fillLabels({ name, labels }: PodRow): void {
    this.#chips.replaceChildren(...labels.map((label) => chip(label, shortKey(label[0]))));
    this.#edit.title = "Edit label";
    this.#edit.setAttribute("aria-label", `Edit label of ${name}`);
  }
}

/** Creates the element of a label, with the shown part of its key and the complete label as title. */
export function chip([key, value]: Label, shownKey = key): HTMLSpanElement {
  const text = value === "" ? key : `${key}=${value}`;
  const keyPart = make("span", { className: "chip-key", textContent: shownKey });
  const valuePart = make("span", { className: "chip-value", textContent: value });
  return make("span", { className: "chip", title: text }, keyPart, valuePart);
}

/** Returns a label's key without its prefix: "app.kubernetes.io/name" is "name". */
function shortKey(key: string): string {
  return key.slice(key.lastIndexOf("/") + 1);
}

function sameLabels(a: PodRow, b: PodRow | undefined): boolean {
  return b !== undefined && JSON.stringify(a.labels) === JSON.stringify(b.labels);
}

function cell(className: string): HTMLTableCellElement {
  return make("td", { className, role: "cell" });
}

function fill(element: HTMLElement, text: string): void {
  setText(element, text);
  if (element.title !== text) element.title = text;
}

function pencil(): SVGElement {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("aria-hidden", "true");
  svg.setAttribute("viewBox", "0 0 16 16");
  const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
  path.setAttribute(
    "d",
    "M10.7 2.7l2.6 2.6M2.5 13.5l.7-3.2 8-8a1.2 1.2 0 0 1 1.7 0l.8.8a1.2 1.2 0 0 1 0 1.7l-8 8z",
  );
  svg.append(path);
  return svg;
}
