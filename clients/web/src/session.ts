import type { CallOptions, Client } from "@kubeconnect/client";

/**
 * The client of the page. It has no token until the user signs in. The token is stored only in the
 * memory of the client that sends it.
 */
export class Session {
  readonly #connect: (token?: string) => Client;
  readonly #waiting = new Set<() => void>();
  #client: Client;
  #username = "";

  constructor(connect: (token?: string) => Client) {
    this.#connect = connect;
    this.#client = connect();
  }

  /** The current client. It is replaced when the user signs in or out. */
  get client(): Client {
    return this.#client;
  }

  /** The name of the user that has signed in; empty if none has. */
  get username(): string {
    return this.#username;
  }

  /** Replaces the client by one with this token. Rejects without changes if the token is rejected. */
  async signIn(token: string, options: CallOptions): Promise<void> {
    const client = this.#connect(token);
    const { username } = await client.whoAmI(options);
    this.#use(client, username);
  }

  signOut(): void {
    this.#use(this.#connect(), "");
  }

  /** Resolves when `client` has been replaced. */
  renewed(client: Client, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      signal.throwIfAborted();
      if (client !== this.#client) resolve();
      this.#waiting.add(resolve);
      signal.addEventListener("abort", () => {
        this.#waiting.delete(resolve);
        reject(signal.reason as Error);
      });
    });
  }

  #use(client: Client, username: string): void {
    this.#client = client;
    this.#username = username;
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}
