import { byId, make, setText } from "./dom.js";

/** What is in the boxes above the table. */
export interface Choice {
  readonly filter: string;
  readonly namespace: string;
  readonly labelSelector: string;
}

/** Who is told of what the user does. */
export interface ToolbarObserver {
  /** Another filter or namespace: only what is shown changes. */
  viewChanged(): void;
  /** Another label selector: the service is to be asked. */
  selectorChanged(labelSelector: string): void;
}

/**
 * The boxes above the table. What is in them is also in the page's address, so
 * that a view can be reloaded and passed on.
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
  /** The selector that the service was last asked for. */
  #asked = "";

  constructor(observer: ToolbarObserver) {
    this.#observer = observer;
    this.#restore();
    this.#asked = this.choice.labelSelector;
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

  /** Which part of the cluster the pods are from; empty where they are from all of it. */
  showCoverage(text: string, namespaces: readonly string[]): void {
    setText(this.#coverage, text);
    this.#coverage.hidden = text === "";
    this.#coverage.title = namespaces.join(", ");
  }

  /** The service's own words about the selector; empty when it has none. */
  showSelectorError(message: string): void {
    setText(this.#selectorError, message);
    this.#selectorError.hidden = message === "";
    this.#selector.setAttribute("aria-invalid", String(message !== ""));
  }

  /** Offers these namespaces, and the chosen one even if it has no pods now. */
  showNamespaces(present: readonly (readonly [name: string, count: number])[]): void {
    const chosen = this.#namespace.value;
    const known = chosen === "" || present.some(([name]) => name === chosen);
    const offered = known ? present : [[chosen, 0] as const, ...present];
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
    if (labelSelector === this.#asked) return;
    this.#asked = labelSelector;
    this.#save();
    this.#observer.selectorChanged(labelSelector);
  };

  /** "/" goes to the filter, Escape empties it. */
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
