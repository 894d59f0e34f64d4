import type { KubeconnectError } from "./error.js";

/**
 * The connection state of a watch.
 *
 * "connecting": no message has been received yet. "connected": messages are received, at least
 * every ten seconds. "lost": the service is unreachable; `since` is the time of its last
 * message, which is also the age of the objects, and `error` is the first error of the stream.
 * "closed": the loop was left.
 */
export type ConnectionState =
  | { readonly state: "connecting" | "connected" | "closed"; readonly since: Date }
  | { readonly state: "lost"; readonly since: Date; readonly error: KubeconnectError };

/** Tracks the state of a connection and reports each change. */
export class ConnectionTracker {
  readonly #onChange: ((connection: ConnectionState) => void) | undefined;
  #state: ConnectionState = { state: "connecting", since: new Date() };
  #receivedAt = this.#state.since;

  constructor(onChange?: (connection: ConnectionState) => void) {
    this.#onChange = onChange;
  }

  get state(): ConnectionState {
    return this.#state;
  }

  /** Records that a message was received. */
  received(): void {
    this.#receivedAt = new Date();
    if (this.#state.state !== "connected") {
      this.#change({ state: "connected", since: this.#receivedAt });
    }
  }

  /** Records that the stream failed. */
  failed(error: KubeconnectError): void {
    if (this.#state.state !== "lost") {
      this.#change({ state: "lost", since: this.#receivedAt, error });
    }
  }

  /** Records that the caller has left the stream. A failure remains the state. */
  closed(): void {
    if (this.#state.state !== "lost") {
      this.#change({ state: "closed", since: new Date() });
    }
  }

  #change(state: ConnectionState): void {
    this.#state = state;
    this.#onChange?.(state);
  }
}
