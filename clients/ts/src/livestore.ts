import type { StreamOptions } from "./call.js";
import { ConnectionTracker, type ConnectionState } from "./connection.js";
import { KubeconnectError } from "./error.js";
import type { Freshness } from "./freshness.js";
import { reconnecting, type ReconnectLimits, type ReconnectOptions } from "./reconnect.js";
import { RetryPolicy } from "./retry.js";
import type { BatchStatus } from "./staleness.js";
import { StreamInfo } from "./streaminfo.js";

/** Options of a store. */
export interface LiveStoreOptions extends StreamOptions, ReconnectOptions {}

/** The state after a message of the service. */
export interface Update<S> extends BatchStatus {
  /** The earlier one if nothing in it has changed. */
  readonly snapshot: S | undefined;
  /** Whether to call the listeners although the snapshot is the earlier one. */
  readonly changed?: boolean;
}

/**
 * A state of the cluster that the service keeps current, as a store for user interfaces. Its
 * snapshots are immutable, and a snapshot is the same object until something in it changes.
 *
 * The stream is open while the store is followed: from the first subscription, or the begin of an
 * iteration, until the last one ends. The snapshot remains after that, and is brought up to date
 * when the store is followed again. A stream that is lost is opened again, as by a watch.
 *
 * If the stream is rejected, or the `signal` aborts, the store is no longer current: iterations
 * throw, and `error` has the reason for subscribers. The next subscription opens the stream again.
 *
 * `subscribe` and `getSnapshot` are arguments of React's useSyncExternalStore, and the store is a
 * Svelte store.
 */
export abstract class LiveStore<
  S extends object,
  U extends Update<S> = Update<S>,
> implements AsyncIterable<S> {
  /** What the service has last reported about the stream. */
  protected readonly info = new StreamInfo();
  readonly #options: LiveStoreOptions & ReconnectLimits;
  readonly #connection: ConnectionTracker;
  readonly #retry: RetryPolicy;
  readonly #listeners = new Set<() => void>();
  #snapshot: S | undefined;
  #resumeToken = "";
  #stale = false;
  #failure: { readonly error: unknown } | undefined;
  /** Ends the stream; undefined if no stream is open. */
  #leaving: AbortController | undefined;
  /** Settles when the last stream has ended. */
  #ended = Promise.resolve();

  constructor(options: LiveStoreOptions) {
    this.#options = options;
    this.#retry = new RetryPolicy(options);
    this.#connection = new ConnectionTracker((connection) => {
      if (connection.state !== "connected") this.info.markLost();
      options.onConnection?.(connection);
      this.notify();
    });
  }

  /** The last state; undefined until the first one is complete. */
  get snapshot(): S | undefined {
    return this.#snapshot;
  }

  /** The connection state, as of a watch. */
  get connection(): ConnectionState {
    return this.#connection.state;
  }

  /** How current the snapshot is, as of a watch. */
  get freshness(): Freshness | undefined {
    return this.info.freshness;
  }

  /** The error that has ended the stream; undefined while the store is followed. */
  get error(): KubeconnectError | undefined {
    const error = this.#failure?.error;
    return error instanceof KubeconnectError ? error : undefined;
  }

  /** Returns `snapshot`. It needs no `this`. */
  readonly getSnapshot = (): S | undefined => this.#snapshot;

  /**
   * Calls the listener immediately, and after each change of the snapshot, of `connection`, of
   * `freshness.stale` and of `error`. Returns an unsubscriber. It needs no `this`.
   */
  readonly subscribe = (listener: (snapshot: S | undefined) => void): (() => void) => {
    const call = (): void => {
      listener(this.#snapshot);
    };
    this.#listeners.add(call);
    this.resume();
    call();
    return () => {
      this.#listeners.delete(call);
      if (this.#listeners.size === 0) this.#leave();
    };
  };

  /**
   * Iterates over the snapshots, beginning with the last one. A loop that is slower than the
   * changes gets the newest snapshot and misses earlier ones.
   */
  async *[Symbol.asyncIterator](): AsyncGenerator<S, never, undefined> {
    let yielded: S | undefined;
    let wake = (): void => undefined;
    const unsubscribe = this.subscribe(() => {
      wake();
    });
    try {
      for (;;) {
        const snapshot = this.#snapshot;
        if (snapshot !== undefined && snapshot !== yielded) {
          yielded = snapshot;
          yield snapshot;
        } else if (this.#failure !== undefined) {
          throw this.#failure.error;
        } else {
          await new Promise<void>((resolve) => (wake = resolve));
        }
      }
    } finally {
      unsubscribe();
    }
  }

  /** Opens a stream, which resumes at the token, and reads its messages. */
  protected abstract open(signal: AbortSignal, resumeToken: string): AsyncIterable<U>;

  /** Opens a stream if the store is followed and has none, because the last one has failed. */
  protected resume(): void {
    if (this.#leaving !== undefined || this.#listeners.size === 0) return;
    const leaving = new AbortController();
    this.#leaving = leaving;
    this.#failure = undefined;
    this.#ended = this.#ended.then(() => this.#follow(leaving.signal));
  }

  /** Makes an update the state of the store. */
  protected apply({ snapshot, resumeToken = "", changed = snapshot !== this.#snapshot }: U): void {
    const stale = this.freshness?.stale ?? false;
    const isNews = changed || stale !== this.#stale;
    this.#resumeToken = resumeToken;
    this.#snapshot = snapshot;
    this.#stale = stale;
    if (isNews) this.notify();
  }

  /** Calls the listeners. An error of one of them is reported as uncaught, and does no harm here. */
  protected notify(): void {
    for (const call of [...this.#listeners]) {
      try {
        call();
      } catch (error) {
        queueMicrotask(() => {
          throw error;
        });
      }
    }
  }

  #leave(): void {
    this.#leaving?.abort();
    this.#leaving = undefined;
  }

  /** Reads streams until the store is left. Never rejects. */
  async #follow(left: AbortSignal): Promise<void> {
    try {
      for await (const update of this.#streams(left)) {
        if (left.aborted) return;
        this.apply(update);
      }
    } catch (error) {
      if (left.aborted) return;
      this.#leaving = undefined;
      this.#failure = { error };
      this.#resumeToken = ""; // the next stream begins with a snapshot
      this.notify();
    }
  }

  #streams(left: AbortSignal): AsyncGenerator<U, never, undefined> {
    const { signal } = this.#options;
    return reconnecting(
      (signal, resumeToken) => this.open(signal, resumeToken),
      this.#resumeToken,
      signal ? AbortSignal.any([signal, left]) : left,
      this.#options,
      { connection: this.#connection, retry: this.#retry },
    );
  }
}
