import type { KubeconnectError } from "./error.js";

/**
 * How a followed watch stands with the service.
 *
 * "connecting": nothing has come yet. "connected": messages come, at least every ten
 * seconds. "lost": the service is not heard; `since` is when its last message came, so what
 * is held is as of that time, and `error` says what the stream failed with first.
 */
export type ConnectionState =
  | { readonly state: "connecting" | "connected"; readonly since: Date }
  | { readonly state: "lost"; readonly since: Date; readonly error: KubeconnectError };

/** Keeps the state of a connection, and reports each change of it. */
export class ConnectionTracker {
  readonly #onChange: ((connection: ConnectionState) => void) | undefined;
  #state: ConnectionState = { state: "connecting", since: new Date() };
  #heardAt = this.#state.since;

  constructor(onChange: ((connection: ConnectionState) => void) | undefined) {
    this.#onChange = onChange;
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /** Notes that a message has come. */
  heard(): void {
    this.#heardAt = new Date();
    if (this.#state.state !== "connected") {
      this.#change({ state: "connected", since: this.#heardAt });
    }
  }

  /** Notes that the stream has failed. */
  lost(error: KubeconnectError): void {
    if (this.#state.state !== "lost") {
      this.#change({ state: "lost", since: this.#heardAt, error });
    }
  }

  #change(state: ConnectionState): void {
    this.#state = state;
    this.#onChange?.(state);
  }
}
