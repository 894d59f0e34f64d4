import type { Client } from "../client.js";
import type { LiveStore } from "../livestore.js";
import { viewOf, type LiveView } from "./view.js";

/** How long a store is cached at least for a component that React has yet to render or to mount. */
const renderMs = 1_000;

/** How long a suspended component keeps a stream open without a snapshot before it asks again. */
const suspendedMs = 30_000;

/**
 * The stores of the components of one client, by their questions. A store is created when a
 * component first asks, opens its stream when a component is mounted or suspended, and is closed and
 * forgotten when no component has followed it for the linger time.
 *
 * The stores belong to the client and not to a provider, because React discards the state of a
 * provider that suspends before it is mounted.
 */
export class SharedStores {
  readonly #shared = new Map<string, SharedStore>();

  /**
   * Returns the store of a question, and creates it if there is none.
   *
   * @param key The question. It determines the type of the store.
   */
  get<L extends LiveStore<object>>(key: string, lingerMs: number, create: () => L): SharedStore<L> {
    const known = this.#shared.get(key) as SharedStore<L> | undefined;
    if (known) return known;
    const shared = new SharedStore<L>(create(), lingerMs, (isUsed) => {
      if (isUsed) this.#shared.set(key, shared);
      else if (this.#shared.get(key) === shared) this.#shared.delete(key);
    });
    this.#shared.set(key, shared);
    return shared;
  }
}

/** The type of the snapshots of a store. */
export type SnapshotOf<L> = L extends LiveStore<infer S> ? S : never;

/** A store that several components follow. */
export class SharedStore<L extends LiveStore<object> = LiveStore<object>> {
  readonly store: L;
  readonly #lingerMs: number;
  readonly #onUse: (isUsed: boolean) => void;
  #followers = 0;
  #unfollow: (() => void) | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #loading: Promise<void> | undefined;

  constructor(store: L, lingerMs: number, onUse: (isUsed: boolean) => void) {
    this.store = store;
    this.#lingerMs = lingerMs;
    this.#onUse = onUse;
    this.#linger(this.#renderMs()); // a render that React discards never follows the store
  }

  /**
   * Follows the store, and calls the listener after each change. A store that has failed opens its
   * stream again. Needs no `this`.
   */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#followers++;
    clearTimeout(this.#timer);
    this.#onUse(true);
    const unsubscribe = this.store.subscribe(listener);
    this.#unfollow ??= this.store.subscribe(() => undefined);
    return () => {
      unsubscribe();
      if (--this.#followers === 0) this.#linger();
    };
  };

  /** Returns the view of the store. Needs no `this`. */
  readonly getView = (): LiveView<SnapshotOf<L>> =>
    viewOf(this.store as unknown as LiveStore<SnapshotOf<L>>);

  /**
   * Opens the stream for a component that suspends, and returns a promise that resolves when the
   * component should render again. It is the same promise until then.
   */
  load(): Promise<void> {
    return (this.#loading ??= this.#load().finally(() => (this.#loading = undefined)));
  }

  /** Forgets a failure that a component has thrown, soon, so that a retry opens a new stream. */
  failed(): void {
    if (this.#followers === 0) this.#linger(renderMs);
  }

  async #load(): Promise<void> {
    let resolve = (): void => undefined;
    const loaded = new Promise<void>((settle) => (resolve = settle));
    const timer = unreferenced(setTimeout(resolve, suspendedMs));
    const unsubscribe = this.subscribe(() => {
      if (this.store.snapshot !== undefined || this.store.error !== undefined) resolve();
    });
    await loaded;
    clearTimeout(timer);
    unsubscribe();
    if (this.#followers === 0) this.#linger(this.#renderMs());
  }

  /** Returns the linger time of a store that a component is about to follow. */
  #renderMs(): number {
    return Math.max(this.#lingerMs, renderMs);
  }

  #linger(lingerMs = this.#lingerMs): void {
    clearTimeout(this.#timer);
    this.#timer = unreferenced(
      setTimeout(() => {
        this.#unfollow?.();
        this.#unfollow = undefined;
        this.#onUse(false);
      }, lingerMs),
    );
  }
}

/** Lets a Node.js process end although the timer has not elapsed. */
function unreferenced<T>(timer: T & { unref?: () => void }): T {
  if (typeof timer === "object") timer.unref?.();
  return timer;
}

const stores = new WeakMap<Client, SharedStores>();

/** Returns the stores of a client. */
export function storesOf(client: Client): SharedStores {
  const known = stores.get(client) ?? new SharedStores();
  stores.set(client, known);
  return known;
}
