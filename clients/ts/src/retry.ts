import { Code } from "@connectrpc/connect";
import type { KubeconnectError } from "./error.js";
import type { WatchBatch } from "./watch.js";

/** Options of retries after a failure. */
export interface RetryOptions {
  /** The maximum delay after the first failure, in milliseconds. Default: 200. */
  readonly firstDelayMs?: number | undefined;
  /** The maximum delay, in milliseconds. Default: 5,000. */
  readonly maxDelayMs?: number | undefined;
  /**
   * Returns whether an error must not be retried. Default: the request is invalid, or the caller
   * is rejected as unauthenticated twice in a row (see RetryPolicy).
   */
  readonly isFinal?: ((error: KubeconnectError) => boolean) | undefined;
  /** Returns random numbers in [0, 1). Default: Math.random. */
  readonly random?: (() => number) | undefined;
}

/** The progress that a batch reports. */
type Progress = Pick<WatchBatch<unknown>, "resumeToken"> & { readonly synced?: boolean };

/**
 * Decides how to continue after the failure of a watch. It does no I/O and uses no clock: the
 * caller reports received batches and failures, and gets the delays to wait.
 *
 * An open stream that ends with Code.Unauthenticated is opened once more, because its token may
 * have expired and the next call uses a new token. A stream that is rejected before its first
 * message is final.
 */
export class RetryPolicy {
  readonly #firstDelayMs: number;
  readonly #maxDelayMs: number;
  readonly #isFinal: ((error: KubeconnectError) => boolean) | undefined;
  readonly #random: () => number;
  #failures = 0;
  /** Whether a message was received since the last failure. */
  #opened = false;

  constructor(options: RetryOptions = {}) {
    this.#firstDelayMs = options.firstDelayMs ?? 200;
    this.#maxDelayMs = options.maxDelayMs ?? 5_000;
    this.#isFinal = options.isFinal;
    this.#random = options.random ?? Math.random;
  }

  /**
   * Records a batch. The stream counts as healthy when it has a resume token. A stream of several
   * watches, which always has a token, counts as healthy when all watches are in sync.
   */
  received({ resumeToken, synced = true }: Progress): void {
    this.#opened = true;
    if (resumeToken !== "" && synced) {
      this.#failures = 0;
    }
  }

  /**
   * Returns the number of milliseconds to wait before the next attempt; undefined if the error is
   * final. Half of each delay is random, so that callers that were disconnected together do not
   * reconnect together.
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
