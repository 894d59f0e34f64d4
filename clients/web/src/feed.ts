import {
  Code,
  KubeconnectError,
  LiveCollection,
  type Changes,
  type Client,
  type Freshness,
  type Sleep,
  type Watch,
  type WatchBatch,
} from "@kubeconnect/client";
import type { Connection } from "./connection.js";
import { podFields, type Pod } from "./pod.js";
import { podRow, type PodRow } from "./row.js";
import { reasonFor } from "./text.js";

/** The source of the feed's client. */
export interface Caller {
  readonly client: Client;
  /** Resolves when `client`, which was rejected, has been replaced. */
  renewed(client: Client, signal: AbortSignal): Promise<void>;
}

/** The callbacks of a feed. */
export interface FeedObserver {
  /** Called when the connection state has changed. */
  connection(connection: Connection): void;
  /** Called when pods have changed; without `changes` when all of them have. */
  changed(changes?: Changes<PodRow>): void;
  /** Called when more pods of the first snapshot have been received. */
  arriving(): void;
}

/**
 * The live pods of one label selector. The watch of a new selector runs in addition to the current
 * one, and replaces it when its snapshot is complete. Until then, and if the service rejects the
 * selector, the pods remain those of the current one.
 */
export class PodFeed {
  readonly #caller: Caller;
  readonly #observer: FeedObserver;
  readonly #wait: Sleep | undefined;
  #shown: Shown | undefined;
  #trying: AbortController | undefined;
  #arriving = 0;
  /** The last reported freshness, of any selector. */
  #freshness: Freshness | undefined;
  /** The connection that was last reported to the observer, as JSON. */
  #reported = "";

  /** @param wait The function that waits before a lost stream is opened again. Default: a timer. */
  constructor(caller: Caller, observer: FeedObserver, wait?: Sleep) {
    this.#caller = caller;
    this.#observer = observer;
    this.#wait = wait;
  }

  /** The pods by key; empty before the first snapshot is complete. */
  get pods(): ReadonlyMap<string, PodRow> {
    return this.#shown?.pods.objects ?? new Map<string, PodRow>();
  }

  /** The namespaces that the pods are from; empty if these are all namespaces. */
  get namespaces(): readonly string[] {
    return this.#shown?.namespaces ?? [];
  }

  /** Whether the first snapshot is complete. */
  get synced(): boolean {
    return this.#shown !== undefined;
  }

  /** The number of received pods of the first snapshot. */
  get arriving(): number {
    return this.#arriving;
  }

  /**
   * Shows the pods of a label selector. Resolves when they are shown, or when another selector has
   * replaced it. Rejects if the service rejects the selector.
   */
  async select(labelSelector: string): Promise<void> {
    this.#trying?.abort();
    const stop = new AbortController();
    this.#trying = stop;
    await new Promise<void>((resolve, reject) => {
      this.#run(labelSelector, stop, resolve).catch((error: unknown) => {
        if (stop.signal.aborted) {
          resolve();
        } else if (this.#shown?.stop === stop) {
          throw error; // an error of the page, because errors of the service are retried
        } else {
          reject(KubeconnectError.from(error));
        }
      });
    });
  }

  /** Closes all streams. */
  close(): void {
    this.#trying?.abort();
    this.#shown?.stop.abort();
  }

  /** Closes all streams and clears the pods. */
  clear(): void {
    this.close();
    this.#shown = this.#trying = this.#freshness = undefined;
    this.#arriving = 0;
    this.#report({ state: "connecting" });
    this.#observer.changed();
  }

  /** Watches a selector with one client after another: a rejected client is replaced. */
  async #run(labelSelector: string, stop: AbortController, onShown: () => void): Promise<void> {
    const { signal } = stop;
    const selection: Selection = {
      stop,
      pods: new LiveCollection<PodRow, Pod>(podRow),
      lastMessage: undefined,
      onShown,
    };
    let resumeToken = "";
    for (;;) {
      const { client } = this.#caller;
      const watch = this.#watch(client, labelSelector, resumeToken, selection);
      try {
        for await (const batch of watch.batches()) {
          signal.throwIfAborted();
          this.#apply(batch, selection);
        }
      } catch (error) {
        if (!isUnauthenticated(error)) throw error;
        resumeToken = watch.resumeToken;
        this.#reportOf(selection, { state: "unauthenticated", reason: error.message });
        await this.#caller.renewed(client, signal);
        this.#reportOf(selection, { state: "connecting" });
      }
    }
  }

  /** Returns the watch of a selector, which ends if the client or the selector is rejected. */
  #watch(
    client: Client,
    labelSelector: string,
    resumeToken: string,
    selection: Selection,
  ): Watch<Pod> {
    return client.watch<Pod>("pods", {
      labelSelector,
      resumeToken,
      signal: selection.stop.signal,
      fields: podFields,
      isFinal: ({ code }) =>
        code === Code.Unauthenticated || (code === Code.InvalidArgument && !selection.pods.synced),
      onRetry: (error) => {
        this.#reportOf(selection, lossBy(error, selection.lastMessage));
      },
      sleep: this.#wait,
    });
  }

  #apply(batch: WatchBatch<Pod>, selection: Selection): void {
    const { pods, stop, onShown } = selection;
    const changes = pods.apply(batch);
    selection.lastMessage = new Date();
    this.#freshness = batch.freshness ?? this.#freshness;
    if (!pods.synced) {
      this.#arriving = pods.arriving;
      if (this.#isCurrent(selection)) this.#observer.arriving();
      return;
    }
    const { namespaces } = batch;
    if (this.#shown?.stop === stop) {
      this.#shown = { pods, stop, namespaces };
      this.#observer.changed(changes);
    } else {
      this.#show({ pods, stop, namespaces });
      onShown();
    }
    if (!pods.resetting) this.#report(connectionFrom(this.#freshness));
  }

  /** Returns whether the selection is shown, or will be the first one to be shown. */
  #isCurrent({ stop }: Selection): boolean {
    return !this.#shown || this.#shown.stop === stop;
  }

  #reportOf(selection: Selection, connection: Connection): void {
    if (this.#isCurrent(selection)) this.#report(connection);
  }

  /** Calls the observer, if the connection has changed. */
  #report(connection: Connection): void {
    const text = JSON.stringify(connection);
    if (text !== this.#reported) this.#observer.connection(connection);
    this.#reported = text;
  }

  #show(shown: Shown): void {
    this.#shown?.stop.abort();
    this.#shown = shown;
    this.#trying = undefined;
    this.#observer.changed();
  }
}

/** A selection whose pods are received. */
interface Selection {
  readonly stop: AbortController;
  readonly pods: LiveCollection<PodRow, Pod>;
  /** The time of the last message; undefined before the first one. */
  lastMessage: Date | undefined;
  readonly onShown: () => void;
}

/** The selection that is shown. */
interface Shown {
  readonly pods: LiveCollection<PodRow, Pod>;
  readonly stop: AbortController;
  readonly namespaces: readonly string[];
}

function isUnauthenticated(error: unknown): error is KubeconnectError {
  return error instanceof KubeconnectError && error.code === Code.Unauthenticated;
}

/** Returns the connection state after a stream has failed. */
function lossBy(error: KubeconnectError, lastMessage: Date | undefined): Connection {
  return error.code === Code.PermissionDenied
    ? { state: "forbidden", reason: error.message }
    : { state: "reconnecting", reason: reasonFor(error), lastMessage };
}

/** Returns the connection state while the service is reachable. */
function connectionFrom(freshness: Freshness | undefined): Connection {
  return freshness?.stale
    ? { state: "stale", lastContactTime: freshness.lastContactTime }
    : { state: "live" };
}
