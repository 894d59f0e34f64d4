import { byId, make, setText } from "./dom.js";

/** The values of the inputs above the table. */
export interface Choice {
  readonly filter: string;
  readonly namespace: string;
  readonly labelSelector: string;
}

/** The callbacks of the toolbar. */
export interface ToolbarObserver {
  /** Called when the filter or the namespace has changed, which needs no request. */
  viewChanged(): void;
  /** Called when the label selector has changed, which needs a new watch. */
  selectorChanged(labelSelector: string): void;
}

/**
 * The inputs above the table. Their values are also in the page's address, so that a view can be
 * reloaded and shared.
 */
export class Toolbar {
  readonly #filter = byId("filter", HTMLInputElement);
  readonly #namespace = byId("namespace", HTMLSelectElement);
  readonly #selector = byId("selector", HTMLInputElement);
  readonly #selectorForm = byId("selector-form", HTMLFormElement);
  readonly #selectorError = byId("selector-error", HTMLElement);
  readonly #count = byId("count", HTMLElement);
  readonly #coverage = byId("coverage", HTMLElement);
  readonly #observer: ToolbarObserver;
  /** The selector that was last passed to the observer. */
  #applied = "";

  constructor(observer: ToolbarObserver) {
    this.#observer = observer;
    this.#restore();
    this.#applied = this.choice.labelSelector;
    this.#filter.addEventListener("input", this.#viewChanged);
    this.#namespace.addEventListener("change", this.#viewChanged);
    this.#selector.addEventListener("change", this.#selectorChanged);
    this.#selectorForm.addEventListener("submit", (event) => {
      event.preventDefault();
      this.#selectorChanged();
    });
    document.addEventListener("keydown", (event) => {
      this.#keyDown(event);
    });
  }

  get choice(): Choice {
    return {
      filter: this.#filter.value,
      namespace: this.#namespace.value,
      labelSelector: this.#selector.value.trim(),
    };
  }

  showCount(text: string): void {
    setText(this.#count, text);
  }

  /** Shows the namespaces that the pods are from; empty if these are all. */
  showCoverage(text: string, namespaces: readonly string[]): void {
    setText(this.#coverage, text);
    this.#coverage.hidden = text === "";
    this.#coverage.title = namespaces.join(", ");
  }

  /** Shows the service's error about the selector; empty to hide it. */
  showSelectorError(message: string): void {
    setText(this.#selectorError, message);
    this.#selectorError.hidden = message === "";
    this.#selector.setAttribute("aria-invalid", String(message !== ""));
  }

  /** Updates the options to these namespaces, and the chosen one even if it has no pods. */
  showNamespaces(present: readonly (readonly [name: string, count: number])[]): void {
    const chosen = this.#namespace.value;
    const included = chosen === "" || present.some(([name]) => name === chosen);
    const offered = included ? present : [[chosen, 0] as const, ...present];
    const options = [...this.#namespace.options].slice(1);
    offered.forEach(([name, count], index) => {
      const option = options[index] ?? this.#namespace.appendChild(make("option"));
      option.value = name;
      setText(option, `${name} (${count})`);
    });
    options.slice(offered.length).forEach((option) => {
      option.remove();
    });
    this.#namespace.value = chosen;
  }

  readonly #viewChanged = (): void => {
    this.#save();
    this.#observer.viewChanged();
  };

  readonly #selectorChanged = (): void => {
    const { labelSelector } = this.choice;
    if (labelSelector === this.#applied) return;
    this.#applied = labelSelector;
    this.#save();
    this.#observer.selectorChanged(labelSelector);
  };

  /** Handles keys: "/" focuses the filter, Escape clears it. */
  #keyDown(event: KeyboardEvent): void {
    const { key, target } = event;
    if (key === "Escape" && target === this.#filter && this.#filter.value !== "") {
      this.#filter.value = "";
      this.#viewChanged();
    }
    const typing = target instanceof Element && target.closest("input, select, dialog") !== null;
    if (key === "/" && !typing) {
      event.preventDefault();
      this.#filter.focus();
    }
  }

  #restore(): void {
    const saved = new URLSearchParams(location.search);
    this.#filter.value = saved.get("filter") ?? "";
    this.#selector.value = saved.get("labels") ?? "";
    const namespace = saved.get("namespace");
    if (namespace) {
      const option = make("option", { textContent: namespace });
      option.value = namespace;
      this.#namespace.append(option);
      this.#namespace.value = namespace;
    }
  }

  #save(): void {
    const { filter, namespace, labelSelector } = this.choice;
    const entries = Object.entries({ filter, namespace, labels: labelSelector });
    const search = new URLSearchParams(entries.filter(([, value]) => value !== "")).toString();
    history.replaceState(null, "", search ? `?${search}` : location.pathname);
  }
}
