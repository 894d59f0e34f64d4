import { KubeconnectError } from "@kubeconnect/client";
import { byId, make } from "./dom.js";
import type { Caller } from "./feed.js";
import { isFulfilled, labelPatch, type LabelChange } from "./labelpatch.js";
import { chip } from "./rowelement.js";
import type { Label, PodRow } from "./row.js";
import { additionalCauses } from "./text.js";

/** The state of the dialog. */
type Phase =
  | { readonly name: "editing" }
  | { readonly name: "saving"; readonly stop: AbortController }
  | { readonly name: "waiting"; readonly change: LabelChange };

/**
 * The dialog that changes one label of one pod. It closes when the table shows the change, so that
 * the user always sees the state of the cluster.
 */
export class LabelDialog {
  readonly #dialog = byId("label-dialog", HTMLDialogElement);
  readonly #form = byId("label-form", HTMLFormElement);
  readonly #subject = byId("label-subject", HTMLElement);
  readonly #chips = byId("label-chips", HTMLElement);
  readonly #key = byId("label-key", HTMLInputElement);
  readonly #value = byId("label-value", HTMLInputElement);
  readonly #remove = byId("label-remove", HTMLInputElement);
  readonly #save = byId("label-save", HTMLButtonElement);
  readonly #error = byId("label-error", HTMLElement);
  readonly #progress = byId("label-progress", HTMLElement);
  readonly #caller: Pick<Caller, "client">;
  readonly #present: (key: string) => PodRow | undefined;
  #row: PodRow | undefined;
  #phase: Phase = { name: "editing" };

  /** @param present Returns the current row of a key. */
  constructor(caller: Pick<Caller, "client">, present: (key: string) => PodRow | undefined) {
    this.#caller = caller;
    this.#present = present;
    this.#form.addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#submit();
    });
    this.#remove.addEventListener("change", () => {
      this.#enter(this.#phase);
    });
    byId("label-cancel", HTMLButtonElement).addEventListener("click", () => {
      this.#dialog.close();
    });
    this.#dialog.addEventListener("close", () => {
      if (this.#phase.name === "saving") this.#phase.stop.abort();
      this.#row = undefined;
    });
  }

  open(row: PodRow, label?: Label): void {
    this.#row = row;
    this.#subject.textContent = row.key;
    this.#form.reset();
    this.#error.hidden = true;
    this.#fillChips(row);
    this.#enter({ name: "editing" });
    if (label) this.#fillLabel(label);
    this.#dialog.showModal();
    (label ? this.#value : this.#key).focus();
  }

  /** Updates the dialog. Must be called when the table has changed. */
  refresh(): void {
    if (!this.#row) return;
    const row = this.#present(this.#row.key);
    if (this.#phase.name === "waiting" && isFulfilled(row, this.#row.uid, this.#phase.change)) {
      this.#dialog.close();
    } else if (row?.uid === this.#row.uid && row !== this.#row) {
      this.#row = row;
      this.#fillChips(row);
    }
  }

  async #submit(): Promise<void> {
    if (!this.#row || this.#phase.name !== "editing") return;
    const row = this.#row;
    const change = {
      key: this.#key.value.trim(),
      value: this.#remove.checked ? null : this.#value.value.trim(),
    };
    const stop = new AbortController();
    this.#error.hidden = true;
    this.#enter({ name: "saving", stop });
    try {
      const { client } = this.#caller;
      await client.patch("pods", row, {
        ...labelPatch(row, change),
        signal: stop.signal,
      });
      if (stop.signal.aborted) return;
      this.#enter({ name: "waiting", change });
      this.refresh();
    } catch (error) {
      if (stop.signal.aborted) return;
      this.#showError(KubeconnectError.from(error));
      this.#enter({ name: "editing" });
    }
  }

  #enter(phase: Phase): void {
    this.#phase = phase;
    const editing = phase.name === "editing";
    this.#key.disabled = this.#remove.disabled = this.#save.disabled = !editing;
    this.#value.disabled = !editing || this.#remove.checked;
    this.#save.textContent = this.#remove.checked ? "Remove" : "Save";
    this.#progress.textContent = progress[phase.name];
  }

  #showError(error: KubeconnectError): void {
    const causes = additionalCauses(error).map(({ field, message }) =>
      make("li", {}, make("code", { textContent: field }), new Text(` ${message}`)),
    );
    this.#error.replaceChildren(make("p", { textContent: error.message }));
    if (causes.length > 0) this.#error.append(make("ul", {}, ...causes));
    this.#error.hidden = false;
  }

  #fillChips({ labels }: PodRow): void {
    this.#chips.replaceChildren(
      ...labels.map((label) => {
        const button = make("button", { className: "chip-button" }, chip(label));
        button.type = "button";
        button.addEventListener("click", () => {
          this.#fillLabel(label);
          this.#value.focus();
        });
        return button;
      }),
    );
  }

  #fillLabel([key, value]: Label): void {
    this.#key.value = key;
    this.#value.value = value;
    this.#remove.checked = false;
    this.#enter(this.#phase);
  }
}

const progress: Record<Phase["name"], string> = {
  editing: "",
  saving: "Saving…",
  waiting: "Saved. Waiting for the updated pod…",
};
