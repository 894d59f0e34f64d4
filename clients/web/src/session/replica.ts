import type { Interceptor } from "@connectrpc/connect";

/** The header of the service's responses that names the process which has served them. */
const header = "Kubeconnect-Replica";

/** The replica of the service that has served the last opened stream. */
export class Replica {
  #name: string | undefined;
  readonly #listeners = new Set<() => void>();

  /** The name of the replica; undefined until a stream is open. Needs no `this`. */
  readonly name = (): string | undefined => this.#name;

  /** Calls the listener after each change of `name`. Needs no `this`. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Reads the name from the responses of streams. */
  readonly observe: Interceptor = (next) => async (request) => {
    const response = await next(request);
    if (response.stream) this.#set(response.header.get(header));
    return response;
  };

  #set(name: string | null): void {
    if (name === null || name === this.#name) return;
    this.#name = name;
    for (const listener of [...this.#listeners]) listener();
  }
}
