import type { Connection } from "./feed.js";
import { byId, setText } from "./dom.js";
import type { Session } from "./session.js";
import { refusalOf } from "./words.js";

/** Asks for a token where the service wants one, and says in the head who is calling. */
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
  readonly #onAnother: () => void;
  /** Ends what the dialog waits for. */
  #stop = new AbortController();

  /** onAnother is called when another than before is calling. */
  constructor(session: Session, onAnother: () => void) {
    this.#session = session;
    this.#onAnother = onAnother;
    byId("sign-in-form", HTMLFormElement).addEventListener("submit", (event) => {
      event.preventDefault();
      void this.#take();
    });
    byId("sign-in-cancel", HTMLButtonElement).addEventListener("click", () => {
      this.#dialog.close();
    });
    this.#dialog.addEventListener("close", () => {
      this.#stop.abort();
      this.#token.value = "";
    });
    this.#signIn.addEventListener("click", () => {
      this.#ask();
    });
    this.#signOut.addEventListener("click", () => {
      this.#session.signOut();
      this.#showCaller();
      this.#onAnother();
    });
  }

  /** To be called when things stand differently with the service. */
  show(connection: Connection): void {
    const wanted = connection.state === "unauthenticated";
    this.#signIn.hidden = !wanted;
    if (!wanted) return;
    setText(this.#reason, connection.reason);
    if (!this.#dialog.open) this.#ask();
  }

  #ask(): void {
    this.#showError("");
    this.#dialog.showModal();
  }

  async #take(): Promise<void> {
    const token = this.#token.value.trim();
    this.#token.value = ""; // taken: no part of the page holds it any longer
    const stop = (this.#stop = new AbortController());
    const before = this.#session.username;
    this.#showError("");
    this.#setBusy(true);
    try {
      await this.#session.signIn(token, { signal: stop.signal });
      this.#dialog.close();
      this.#showCaller();
      if (this.#session.username !== before) this.#onAnother();
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

  /** In place of what was wrong before the last token. */
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
