import {
  Code,
  follow,
  KubeconnectError,
  LiveCollection,
  sleep,
  watchdog,
  type Changes,
  type Client,
  type Freshness,
  type Sleep,
} from "@kubeconnect/client";
import type { Pod } from "./pod.js";
import { podRow, type PodRow } from "./row.js";
import { reasonFor } from "./words.js";

/** How things stand with the service. */
export type Connection =
  | { readonly state: "connecting" | "live" }
  | { readonly state: "reconnecting"; readonly reason: string }
  /** The service is there, but it has lost the cluster. */
  | { readonly state: "stale"; readonly lastContact: Date | undefined };

/** Who is told of what happens. */
export interface FeedObserver {
  /** Something else than the last time. */
  connection(connection: Connection): void;
  /** Some pods have changed; all of them, where nothing is said. */
  changed(changes?: Changes<PodRow>): void;
  /** More pods of the very first snapshot are here. */
  arriving(): void;
}

/** The service sends a bookmark every few seconds. */
const quietMs = 30_000;

/**
 * The live pods of one label selector. Another selector is tried beside the
 * present one and takes over when its snapshot is complete; until then, and if
 * it is refused, everything stays as it is.
 */
export class PodFeed {
  readonly #client: Client;
  readonly #observer: FeedObserver;
  readonly #wait: Sleep;
  #shown: { pods: LiveCollection<PodRow, Pod>; stop: AbortController } | undefined;
  #trying: AbortController | undefined;
  #arriving = 0;
  /** As last told, whatever the selector. */
  #freshness: Freshness | undefined;
  /** What the observer was told last. */
  #told = "";

  /** @param wait how to wait before a stream that was lost is opened again. */
  constructor(client: Client, observer: FeedObserver, wait: Sleep = sleep) {
    this.#client = client;
    this.#observer = observer;
    this.#wait = wait;
  }

  /** By key; empty before the first snapshot is complete. */
  get pods(): ReadonlyMap<string, PodRow> {
    return this.#shown?.pods.objects ?? new Map<string, PodRow>();
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

  async #run(labelSelector: string, stop: AbortController, onShown: () => void): Promise<void> {
    const { signal } = stop;
    const pods = new LiveCollection<PodRow, Pod>(podRow);
    const leads = (): boolean => !this.#shown || this.#shown.stop === stop;
    const open = watchdog(
      (signal, resumeToken) =>
        this.#client.watch<Pod>("pods", { labelSelector }, { signal, resumeToken }).batches(),
      quietMs,
    );
    const batches = follow(open, {
      signal,
      isFinal: ({ code }) => code === Code.InvalidArgument && !pods.synced,
      onRetry: (error) => {
        if (leads()) this.#tell({ state: "reconnecting", reason: reasonFor(error) });
      },
      sleep: this.#wait,
    });
    for await (const batch of batches) {
      const changes = pods.apply(batch);
      this.#freshness = batch.freshness ?? this.#freshness;
      if (!pods.synced) {
        this.#arriving = pods.arriving;
        if (leads()) this.#observer.arriving();
        continue;
      }
      if (this.#shown?.stop === stop) {
        this.#observer.changed(changes);
      } else {
        this.#show(pods, stop);
        onShown();
      }
      if (!pods.resetting) this.#tell(standing(this.#freshness));
    }
  }

  #tell(connection: Connection): void {
    const told = JSON.stringify(connection);
    if (told !== this.#told) this.#observer.connection(connection);
    this.#told = told;
  }

  #show(pods: LiveCollection<PodRow, Pod>, stop: AbortController): void {
    this.#shown?.stop.abort();
    this.#shown = { pods, stop };
    this.#trying = undefined;
    this.#observer.changed();
  }
}

/** How things stand where the service is there. */
function standing(freshness: Freshness | undefined): Connection {
  return freshness?.stale
    ? { state: "stale", lastContact: freshness.lastContact }
    : { state: "live" };
}
