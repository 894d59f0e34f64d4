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

/** How things stand with the service. */
export type Connection =
  | { readonly state: "connecting" | "live" }
  /** The reason is the service's where it has told one. */
  | { readonly state: "unauthenticated" | "forbidden"; readonly reason: string }
  /** The service is not heard; lastHeard is when its last message came, if one did. */
  | {
      readonly state: "reconnecting";
      readonly reason: string;
      readonly lastHeard: Date | undefined;
    }
  /** The service is there, but it has lost the cluster. */
  | { readonly state: "stale"; readonly lastContact: Date | undefined };

/** By whom the feed calls. */
export interface Caller {
  readonly client: Client;
  /** Resolves when there is another client than this one, which was refused. */
  renewed(client: Client, signal: AbortSignal): Promise<void>;
}

/** Who is told of what happens. */
export interface FeedObserver {
  /** Something else than the last time. */
  connection(connection: Connection): void;
  /** Some pods have changed; all of them, where nothing is said. */
  changed(changes?: Changes<PodRow>): void;
  /** More pods of the very first snapshot are here. */
  arriving(): void;
}

/**
 * The live pods of one label selector. Another selector is tried beside the
 * present one and takes over when its snapshot is complete; until then, and if
 * it is refused, everything stays as it is.
 */
export class PodFeed {
  readonly #caller: Caller;
  readonly #observer: FeedObserver;
  readonly #wait: Sleep;
  #shown: Shown | undefined;
  #trying: AbortController | undefined;
  #arriving = 0;
  /** As last told, whatever the selector. */
  #freshness: Freshness | undefined;
  /** What the observer was told last. */
  #told = "";

  /** @param wait how to wait before a stream that was lost is opened again. */
  constructor(caller: Caller, observer: FeedObserver, wait: Sleep = sleep) {
    this.#caller = caller;
    this.#observer = observer;
    this.#wait = wait;
  }

  /** By key; empty before the first snapshot is complete. */
  get pods(): ReadonlyMap<string, PodRow> {
    return this.#shown?.pods.objects ?? new Map<string, PodRow>();
  }

  /** The namespaces that the pods are from, where these are not all; empty: all. */
  get namespaces(): readonly string[] {
    return this.#shown?.namespaces ?? [];
  }

  /** Whether a first snapshot has been complete. */
  get synced(): boolean {
    return this.#shown !== undefined;
  }

  /** How many pods of the first snapshot are here. */
  get arriving(): number {
    return this.#arriving;
  }

  /**
   * Shows the pods of a label selector. Resolves when they are shown, or when
   * another selector has come after; rejects when the service refuses it.
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
          throw error; // ours: the service's are retried
        } else {
          reject(KubeconnectError.from(error));
        }
      });
    });
  }

  /** Ends all streams. */
  close(): void {
    this.#trying?.abort();
    this.#shown?.stop.abort();
  }

  /** Ends all streams, and forgets what they have told. */
  forget(): void {
    this.close();
    this.#shown = this.#trying = this.#freshness = undefined;
    this.#arriving = 0;
    this.#tell({ state: "connecting" });
    this.#observer.changed();
  }

  async #run(labelSelector: string, stop: AbortController, onShown: () => void): Promise<void> {
    const { signal } = stop;
    const pods = new LiveCollection<PodRow, Pod>(podRow);
    const leads = (): boolean => !this.#shown || this.#shown.stop === stop;
    const batches = this.#follow(labelSelector, {
      signal,
      isFinal: ({ code }) => code === Code.InvalidArgument && !pods.synced,
      tell: (connection) => {
        if (leads()) this.#tell(connection);
      },
    });
    for await (const batch of batches) {
      signal.throwIfAborted();
      const changes = pods.apply(batch);
      this.#freshness = batch.freshness ?? this.#freshness;
      if (!pods.synced) {
        this.#arriving = pods.arriving;
        if (leads()) this.#observer.arriving();
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
      if (!pods.resetting) this.#tell(standing(this.#freshness));
    }
  }

  /** A stream that is lost or silent is opened again: after a while, or when another is calling. */
  #follow(
    labelSelector: string,
    options: Pick<FollowOptions, "signal" | "isFinal"> & { tell(connection: Connection): void },
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
        options.tell(loss);
      },
      sleep: async (ms, signal) => {
        if (loss.state !== "unauthenticated") return this.#wait(ms, signal);
        await this.#caller.renewed(client, signal);
        options.tell({ state: "connecting" });
      },
    });
    return batches;
  }

  #tell(connection: Connection): void {
    const told = JSON.stringify(connection);
    if (told !== this.#told) this.#observer.connection(connection);
    this.#told = told;
  }

  #show(shown: Shown): void {
    this.#shown?.stop.abort();
    this.#shown = shown;
    this.#trying = undefined;
    this.#observer.changed();
  }
}

/** A selection that is shown. */
interface Shown {
  readonly pods: LiveCollection<PodRow, Pod>;
  readonly stop: AbortController;
  readonly namespaces: readonly string[];
}

/** How things stand when a stream was lost. */
function lossBy(error: KubeconnectError, lastHeard: Date | undefined): Connection {
  switch (error.code) {
    case Code.Unauthenticated:
      return { state: "unauthenticated", reason: error.message };
    case Code.PermissionDenied:
      return { state: "forbidden", reason: error.message };
    default:
      return { state: "reconnecting", reason: reasonFor(error), lastHeard };
  }
}

/** How things stand where the service is there. */
function standing(freshness: Freshness | undefined): Connection {
  return freshness?.stale
    ? { state: "stale", lastContact: freshness.lastContact }
    : { state: "live" };
}
