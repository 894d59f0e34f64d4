import {
  Code,
  follow,
  KubeconnectError,
  LiveCollection,
  sleep,
  type Changes,
  type Client,
  type FollowOptions,
  type Freshness,
  type Following,
  type OpenWatch,
  type Sleep,
  type WatchBatch,
} from "@kubeconnect/client";
import { podFields, type Pod } from "./pod.js";
import { podRow, type PodRow } from "./row.js";
import { reasonFor } from "./words.js";

/** The state of the connection to the service. */
export type Connection =
  | { readonly state: "connecting" | "live" }
  /** The reason is the message of the service. */
  | { readonly state: "unauthenticated" | "forbidden"; readonly reason: string }
  /** The service is unreachable; lastMessage is the time of its last message, if there was one. */
  | {
      readonly state: "reconnecting";
      readonly reason: string;
      readonly lastMessage: Date | undefined;
    }
  /** The service is reachable, but the API server is unreachable for it. */
  | { readonly state: "stale"; readonly lastContact: Date | undefined };

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
  readonly #wait: Sleep;
  #shown: Shown | undefined;
  #trying: AbortController | undefined;
  #arriving = 0;
  /** The last reported freshness, of any selector. */
  #freshness: Freshness | undefined;
  /** The connection that was last reported to the observer, as JSON. */
  #reported = "";

  /** @param wait The function that waits before a lost stream is opened again. */
  constructor(caller: Caller, observer: FeedObserver, wait: Sleep = sleep) {
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

  async #run(labelSelector: string, stop: AbortController, onShown: () => void): Promise<void> {
    const { signal } = stop;
    const pods = new LiveCollection<PodRow, Pod>(podRow);
    const isCurrent = (): boolean => !this.#shown || this.#shown.stop === stop;
    const batches = this.#follow(labelSelector, {
      signal,
      isFinal: ({ code }) => code === Code.InvalidArgument && !pods.synced,
      report: (connection) => {
        if (isCurrent()) this.#report(connection);
      },
    });
    for await (const batch of batches) {
      signal.throwIfAborted();
      const changes = pods.apply(batch);
      this.#freshness = batch.freshness ?? this.#freshness;
      if (!pods.synced) {
        this.#arriving = pods.arriving;
        if (isCurrent()) this.#observer.arriving();
        continue;
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
  }

  /**
   * Follows a selector. A lost or silent stream is opened again after a delay; a stream that was
   * rejected as unauthenticated is opened again when the client has been replaced.
   */
  #follow(
    labelSelector: string,
    options: Pick<FollowOptions, "signal" | "isFinal"> & { report(connection: Connection): void },
  ): Following<WatchBatch<Pod>> {
    let client = this.#caller.client;
    let loss: Connection = { state: "connecting" };
    const open: OpenWatch<Pod> = (signal, resumeToken) => {
      client = this.#caller.client;
      const options = { signal, resumeToken, fields: podFields };
      return client.watch<Pod>("pods", { labelSelector }, options).batches();
    };
    let connected = false;
    const batches = follow(open, {
      ...options,
      onConnection: ({ state }) => {
        connected ||= state === "connected";
      },
      onRetry: (error) => {
        loss = lossBy(error, connected ? batches.connection.since : undefined);
        options.report(loss);
      },
      sleep: async (ms, signal) => {
        if (loss.state !== "unauthenticated") return this.#wait(ms, signal);
        await this.#caller.renewed(client, signal);
        options.report({ state: "connecting" });
      },
    });
    return batches;
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

/** The selection that is shown. */
interface Shown {
  readonly pods: LiveCollection<PodRow, Pod>;
  readonly stop: AbortController;
  readonly namespaces: readonly string[];
}

/** Returns the connection state after a stream has failed. */
function lossBy(error: KubeconnectError, lastMessage: Date | undefined): Connection {
  switch (error.code) {
    case Code.Unauthenticated:
      return { state: "unauthenticated", reason: error.message };
    case Code.PermissionDenied:
      return { state: "forbidden", reason: error.message };
    default:
      return { state: "reconnecting", reason: reasonFor(error), lastMessage };
  }
}

/** Returns the connection state while the service is reachable. */
function connectionFrom(freshness: Freshness | undefined): Connection {
  return freshness?.stale
    ? { state: "stale", lastContact: freshness.lastContact }
    : { state: "live" };
}
