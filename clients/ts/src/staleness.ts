import { KubeconnectError } from "./error.js";
import type { WatchBatch } from "./watch.js";

/** How long a stream may be stale. */
export interface StalenessLimit {
  /**
   * How long the service may call a stream stale, in milliseconds, until it is continued over
   * another connection, because the cluster may have been lost to one replica only; Infinity
   * for no limit. Each replica that is stale too is given twice as long as the one before,
   * up to 32 times. Default: 10,000.
   */
  readonly maxStalenessMs?: number | undefined;
}

/** What staleness is told by. One of several watches has a key. */
type Told = Pick<WatchBatch<unknown>, "freshness"> & { readonly watch?: string };

/** Decides when a stream is stale for too long. It does no I/O. */
export class StalenessPolicy {
  readonly #limitMs: number;
  readonly #random: () => number;
  readonly #stale = new Set<string>();
  /** Since when; 0 where none is. */
  #since = 0;
  /** How many streams were left since the last time that none of the watches was stale. */
  #left = 0;

  constructor({ maxStalenessMs = 10_000 }: StalenessLimit = {}, random = Math.random) {
    this.#limitMs = maxStalenessMs;
    this.#random = random;
  }

  /** Notes that the next stream has told nothing yet. */
  opened(): void {
    this.#stale.clear();
    this.#since = 0;
  }

  /** Returns why to leave the stream behind this batch; undefined if there is no need. */
  received({ freshness, watch = "" }: Told): KubeconnectError | undefined {
    if (freshness === undefined) return undefined;
    if (!freshness.stale) {
      this.#stale.delete(watch);
      if (this.#stale.size === 0) this.#since = this.#left = 0;
      return undefined;
    }
    this.#stale.add(watch);
    const now = Date.now();
    this.#since ||= now;
    if (now - this.#since < this.#limit()) return undefined;
    this.#left++;
    return KubeconnectError.unavailable(
      "the service is stale for too long: another replica is tried",
    );
  }

  #limit(): number {
    const chance = this.#left > 0 ? 1 + this.#random() / 2 : 1;
    return this.#limitMs * 2 ** Math.min(this.#left, mostDoublings) * chance;
  }
}

const mostDoublings = 5;
