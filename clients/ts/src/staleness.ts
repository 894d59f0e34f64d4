import { KubeconnectError } from "./error.js";
import type { WatchBatch } from "./event.js";

/** The limit of staleness of a stream. */
export interface StalenessLimit {
  /**
   * The time in milliseconds for which the service may report a stream as stale until the stream
   * resumes over another connection, because the API server may be unreachable for one replica
   * only; Infinity for no limit. The time doubles for each further replica that is stale too, up
   * to 32 times. Default: 10,000.
   */
  readonly maxStalenessMs?: number | undefined;
}

/**
 * What a batch reports. Batches of several watches have the key of their watch. Batches of a
 * stream that cannot be resumed have no token.
 */
export type BatchStatus = Pick<WatchBatch<unknown>, "freshness"> & {
  readonly resumeToken?: string;
  readonly watch?: string;
  readonly synced?: boolean;
};

/** Decides when a stream has been stale for too long. It does no I/O. */
export class StalenessPolicy {
  readonly #limitMs: number;
  readonly #random: () => number;
  readonly #stale = new Set<string>();
  /** The time since when a watch is stale; 0 if none is. */
  #since = 0;
  /** The number of streams left since no watch was stale. */
  #moves = 0;

  constructor({ maxStalenessMs = 10_000 }: StalenessLimit = {}, random = Math.random) {
    this.#limitMs = maxStalenessMs;
    this.#random = random;
  }

  /** Begins a stream, which has not reported its freshness yet. */
  opened(): void {
    this.#stale.clear();
    this.#since = 0;
  }

  /**
   * Records the freshness of a batch. Returns the error for which to leave the stream after this
   * batch; undefined if the stream has not been stale for too long.
   */
  received({
    freshness,
    watch = "",
  }: Pick<BatchStatus, "freshness" | "watch">): KubeconnectError | undefined {
    if (freshness === undefined) return undefined;
    if (!freshness.stale) {
      this.#stale.delete(watch);
      if (this.#stale.size === 0) this.#since = this.#moves = 0;
      return undefined;
    }
    this.#stale.add(watch);
    const now = Date.now();
    this.#since ||= now;
    if (now - this.#since < this.#limit()) return undefined;
    this.#moves++;
    return KubeconnectError.unavailable(
      "the service has been stale for too long: trying another replica",
    );
  }

  #limit(): number {
    const jitter = this.#moves > 0 ? 1 + this.#random() / 2 : 1;
    return this.#limitMs * 2 ** Math.min(this.#moves, mostDoublings) * jitter;
  }
}

const mostDoublings = 5;
