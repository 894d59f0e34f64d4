import { Code } from "@connectrpc/connect";
import type { KubeconnectError } from "./error.js";
import type { WatchBatch } from "./watch.js";

/** How to go on after a failure. */
export interface RetryOptions {
  /** The longest wait after the first failure, in milliseconds. Default: 200. */
  readonly firstDelayMs?: number | undefined;
  /** The longest wait ever, in milliseconds. Default: 5,000. */
  readonly maxDelayMs?: number | undefined;
  /**
   * Reports whether trying again is pointless. Default: the request itself is wrong, or the
   * caller is refused as unauthenticated twice in a row (see RetryPolicy).
   */
  readonly isFinal?: ((error: KubeconnectError) => boolean) | undefined;
  /** In [0, 1). Default: Math.random. */
  readonly random?: (() => number) | undefined;
}

/** How far a batch has got. */
type Progress = Pick<WatchBatch<unknown>, "resumeToken"> & { readonly synced?: boolean };

/**
 * Decides what follows the failure of a watch. It does no I/O and knows no
 * clock: tell it what arrived and what failed, and it answers how long to wait.
 *
 * A stream that was open and ends with Code.Unauthenticated is opened once more, because
 * its token may only have expired: the next call asks for a fresh one. A stream that is
 * refused before anything has come is final.
 */
export class RetryPolicy {
  readonly #firstDelayMs: number;
  readonly #maxDelayMs: number;
  readonly #isFinal: ((error: KubeconnectError) => boolean) | undefined;
  readonly #random: () => number;
  #failures = 0;
  /** Whether something has come since the last failure. */
  #opened = false;

  constructor(options: RetryOptions = {}) {
    this.#firstDelayMs = options.firstDelayMs ?? 200;
    this.#maxDelayMs = options.maxDelayMs ?? 5_000;
    this.#isFinal = options.isFinal;
    this.#random = options.random ?? Math.random;
  }

  /**
   * A stream that has got as far as a place where it can be resumed counts as healthy; one
   * of several watches, which can be resumed anywhere, when all are in sync.
   */
  received({ resumeToken, synced = true }: Progress): void {
    this.#opened = true;
    if (resumeToken !== "" && synced) {
      this.#failures = 0;
    }
  }

  /**
   * How many milliseconds to wait before the next attempt; undefined if there
   * should be none. Half of each wait is chance, so that callers that were cut
   * off together do not come back together.
   */
  failed(error: KubeconnectError): number | undefined {
    const expired = this.#opened && error.code === Code.Unauthenticated;
    this.#opened = false;
    if (this.#isFinal?.(error) ?? (finalCodes.has(error.code) && !expired)) {
      return undefined;
    }
    const longest = Math.min(this.#maxDelayMs, this.#firstDelayMs * 2 ** this.#failures++);
    const delay = longest * (0.5 + this.#random() / 2);
    return Math.max(delay, error.retryAfterSeconds * 1000);
  }
}

const finalCodes: ReadonlySet<Code> = new Set([
  Code.InvalidArgument,
  Code.NotFound,
  Code.PermissionDenied,
  Code.Unauthenticated,
  Code.Unimplemented,
]);
