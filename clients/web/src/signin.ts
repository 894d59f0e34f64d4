import type { Connection } from "./connection.js";
import { byId, setText } from "./dom.js";
import type { Session } from "./session.js";
import { refusalOf } from "./text.js";

/** The sign-in dialog, which asks for a token, and the name of the user in the header. */
export class SignIn {
  readonly #dialog = byId("sign-in-dialog", HTMLDialogElement);
  readonly #reason = byId("sign-in-reason", HTMLElement);
  readonly #token = byId("sign-in-token", HTMLInputElement);
  readonly #error = byId("sign-in-error", HTMLElement);
  readonly #progress = byId("sign-in-progress", HTMLElement);
  readonly #submit = byId("sign-in-submit", HTMLButtonElement);
  readonly #caller = byId("caller", HTMLElement);
  readonly #signIn = byId("sign-in", HTMLButtonElement);
  readonly #signOut = byId("sign-out", HTMLButtonElement);
  readonly #session: Session;
  readonly #onUserChange: () => void;
  /** Cancels the pending sign-in. */
  #stop = new AbortController();

  /** @param onUserChange Called when another user has signed in, or the user has signed out. */
  constructor(session: Session, onUserChange: () => void) {
    this.#session = session;
    this.#onUserChange = onUserChange;
    byId("sign-in-form", HTMLFormElement).addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#submitToken();
    });
    byId("sign-in-cancel", HTMLButtonElement).addEventListener("click", () => {
      this.#dialog.close();
    });
    this.#dialog.addEventListener("close", () => {
      this.#stop.abort();
      this.#token.value = "";
    });
    this.#signIn.addEventListener("click", () => {
      this.#open();
    });
    this.#signOut.addEventListener("click", () => {
      this.#session.signOut();
      this.#showCaller();
      this.#onUserChange();
    });
  }

  /** Shows the dialog if the service requires a token. Must be called when the state changes. */
  show(connection: Connection): void {
    const required = connection.state === "unauthenticated";
    this.#signIn.hidden = !required;
    if (!required) return;
    setText(this.#reason, connection.reason);
    if (!this.#dialog.open) this.#open();
  }

  #open(): void {
    this.#showError("");
    this.#dialog.showModal();
  }

  async #submitToken(): Promise<void> {
    const token = this.#token.value.trim();
    this.#token.value = ""; // no part of the page stores the token any longer
    const stop = (this.#stop = new AbortController());
    const before = this.#session.username;
    this.#showError("");
    this.#setBusy(true);
    try {
      await this.#session.signIn(token, { signal: stop.signal });
      this.#dialog.close();
      this.#showCaller();
      if (this.#session.username !== before) this.#onUserChange();
    } catch (error) {
      if (!stop.signal.aborted) this.#showError(refusalOf(error));
    } finally {
      this.#setBusy(false);
    }
  }

  #setBusy(busy: boolean): void {
    this.#submit.disabled = busy;
    setText(this.#progress, busy ? "Signing in…" : "");
  }

  /** Shows an error in place of the reason for the sign-in. */
  #showError(message: string): void {
    setText(this.#error, message);
    this.#error.hidden = message === "";
    this.#reason.hidden = message !== "";
    this.#token.setAttribute("aria-invalid", String(message !== ""));
    this.#token.focus();
  }

  #showCaller(): void {
    const { username } = this.#session;
    setText(this.#caller, username);
    this.#caller.title = username;
    this.#caller.hidden = this.#signOut.hidden = username === "";
  }
}
