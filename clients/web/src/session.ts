import type { CallOptions, Client } from "@kubeconnect/client";

/**
 * By whom the page calls: without a token until somebody signs in. The token is in
 * the memory of the client that sends it, and nowhere else.
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

  /** Another one whenever somebody has signed in or out. */
  get client(): Client {
    return this.#client;
  }

  /** Who has signed in; empty if nobody has. */
  get username(): string {
    return this.#username;
  }

  /** Calls with this token from now on; rejects, and changes nothing, if it is refused. */
  async signIn(token: string, options: CallOptions): Promise<void> {
    const client = this.#connect(token);
    const { username } = await client.whoAmI(options);
    this.#use(client, username);
  }

  signOut(): void {
    this.#use(this.#connect(), "");
  }

  /** Resolves when there is another client than this one. */
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
