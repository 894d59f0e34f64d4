import { Code } from "@connectrpc/connect";
import type { StreamOptions } from "./call.js";
import { ConnectionTracker, type ConnectionState } from "./connection.js";
import { KubeconnectError } from "./error.js";
import type { Freshness } from "./freshness.js";
import type { WatchManyResponse } from "./gen/kubeconnect/v1/watch_pb.js";
import { callListener } from "./listener.js";
import type { Membership, Part, PartRequest } from "./part.js";
import type { ReconnectLimits, ReconnectOptions } from "./reconnect.js";
import { RetryPolicy, type Progress } from "./retry.js";
import type { SharedStreams } from "./sharedstreams.js";
import { derived } from "./signal.js";
import { StreamInfo } from "./streaminfo.js";

/**
 * Options of a live store. All live stores of a client share one stream. A store has a stream of its
 * own if it has `headers`, or one of the options of the stream: `reconnect`, `isFinal`, `sleep`.
 */
export interface LiveStoreOptions extends StreamOptions, ReconnectOptions {}

/** The state after a message of the service. */
export interface LiveUpdate<S> extends Progress {
  /** The earlier one if nothing in it has changed. */
  readonly snapshot: S | undefined;
  /** Whether to call the listeners although the snapshot is the earlier one. */
  readonly changed?: boolean;
}

/**
 * A state of the cluster that the service keeps current, as a store for user interfaces. Its
 * snapshots are immutable, and a snapshot is the same object until something in it changes.
 *
 * The store is live while it is followed: from the first subscription, or the begin of an
 * iteration, until the last one ends. The snapshot remains after that, and is brought up to date
 * when the store is followed again. All live stores of a client share one stream. A stream that is
 * lost is opened again, as by a watch.
 *
 * If the store is rejected, or the `signal` aborts, the store is no longer current: iterations
 * throw, and `error` has the reason for subscribers. The next subscription opens the stream again.
 *
 * `subscribe` and `getSnapshot` are arguments of React's useSyncExternalStore, and the store is a
 * Svelte store.
 */
export abstract class LiveStore<
  S extends object,
  U extends LiveUpdate<S> = LiveUpdate<S>,
> implements AsyncIterable<S> {
  /** What the service has last reported about the store. */
  protected readonly info = new StreamInfo();
  readonly #options: LiveStoreOptions & ReconnectLimits;
  readonly #streams: SharedStreams;
  readonly #connection: ConnectionTracker;
  readonly #part: Part;
  readonly #listeners = new Set<() => void>();
  readonly #followers = new Set<symbol>();
  #snapshot: S | undefined;
  #resumeToken = "";
  #stale = false;
  #failure: { readonly error: unknown } | undefined;
  /** The membership in the stream, and what ends it; undefined if the store is not live. */
  #membership: (Membership & { readonly leaving: AbortController }) | undefined;

  constructor(streams: SharedStreams, options: LiveStoreOptions) {
    this.#options = options;
    this.#streams = streams.forStore(options);
    this.#part = this.#createPart(new RetryPolicy(options));
    this.#connection = new ConnectionTracker((connection) => {
      if (connection.state !== "connected") {
        this.info.markLost();
        this.#stale = this.freshness?.stale ?? false;
      }
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
    const unfollow = this.follow();
    call();
    return () => {
      this.#listeners.delete(call);
      unfollow();
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

  /** The token of the last update; empty if it has none. */
  protected get resumeToken(): string {
    return this.#resumeToken;
  }

  /** Returns the maximum number of objects of the page; 0 if the store is not a page. */
  protected pageLimit(): number {
    return 0;
  }

  /** Returns whether a part of a snapshot was received, and the rest was not. */
  protected isWithinSnapshot(): boolean {
    return false;
  }

  /** Returns a request that resumes at the token. Only responses to it are read from now on. */
  protected abstract request(resumeToken: string): PartRequest;

  /** Reads a response. */
  protected abstract read(response: WatchManyResponse): U;

  /** Keeps the store live until the returned function is called. */
  protected follow(): () => void {
    const follower = Symbol("a follower");
    this.#followers.add(follower);
    this.resume();
    return () => {
      if (this.#followers.delete(follower) && this.#followers.size === 0) this.#leave();
    };
  }

  /** Joins the stream if the store is followed and has none, because the last one has failed. */
  protected resume(): void {
    if (this.#membership !== undefined || this.#followers.size === 0) return;
    this.#failure = undefined;
    const { signal } = this.#options;
    const leaving = new AbortController();
    this.#membership = { ...this.#streams.join(this.#part), leaving };
    if (!signal) return;
    const stopped = derived(signal);
    const stop = (): void => {
      this.#leave();
      this.#failure = { error: stopped.reason };
      this.notify();
    };
    if (stopped.aborted) stop();
    else stopped.addEventListener("abort", stop, { signal: leaving.signal });
  }

  /** Requests the store again, because its request has changed. */
  protected update(): void {
    this.#membership?.update();
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
    for (const call of [...this.#listeners]) callListener(call);
  }

  #leave(): void {
    if (this.#membership === undefined) return;
    this.#membership.leave();
    this.#membership.leaving.abort();
    this.#membership = undefined;
    this.#connection.closed();
  }

  #createPart(retry: RetryPolicy): Part {
    return {
      retry,
      pageLimit: () => this.pageLimit(),
      isWithinSnapshot: () => this.isWithinSnapshot(),
      request: () => this.request(this.#resumeToken),
      receive: (response) => this.#receive(response),
      lost: (error, delayMs) => {
        this.#lost(error, delayMs);
      },
      failed: (error) => {
        this.#fail(KubeconnectError.from(error));
      },
    };
  }

  #receive(response: WatchManyResponse): U {
    this.#connection.received();
    const update = this.read(response);
    this.apply(update);
    return update;
  }

  #lost(error: KubeconnectError, delayMs: number): void {
    if (error.code === Code.InvalidArgument) this.#resumeToken = ""; // it may be invalid
    this.#connection.failed(error);
    this.#options.onRetry?.(error, delayMs);
  }

  #fail(error: KubeconnectError): void {
    this.#membership?.leaving.abort();
    this.#membership = undefined;
    this.#resumeToken = ""; // the next stream begins with a snapshot
    this.#connection.failed(error);
    this.#failure = { error };
    this.notify();
  }
}
