import { Code } from "@connectrpc/connect";
import type { KubeconnectError } from "./error.js";

/** The delays between attempts. */
export interface RetryDelays {
  /** The maximum delay after the first failure, in milliseconds. Default: 200. */
  readonly firstDelayMs?: number | undefined;
  /** The maximum delay, in milliseconds. Default: 5,000. */
  readonly maxDelayMs?: number | undefined;
  /** Returns random numbers in [0, 1). Default: Math.random. */
  readonly random?: (() => number) | undefined;
}

/** Which failures of a watch are retried. */
export interface RetryOptions {
  /** Whether a lost stream is opened again. Default: true. */
  readonly reconnect?: boolean | undefined;
  /**
   * Returns whether an error ends the watch. It replaces the client's own decision: with
   * `() => false` the watch also continues when it is rejected, or when its first stream cannot
   * be opened. After Code.InvalidArgument it continues without the resume token, which the replica
   * may be unable to read.
   */
  readonly isFinal?: ((error: KubeconnectError) => boolean) | undefined;
}

/** What is known about the credentials of the calls. */
export interface CredentialOptions {
  /**
   * Whether the credentials can be renewed, as those of a file. A stream whose credentials have
   * expired is opened again until they are renewed. Default: false.
   */
  readonly renewsCredentials?: boolean | undefined;
}

/** The progress that a batch reports. A stream that cannot be resumed has no token. */
export interface Progress {
  readonly resumeToken?: string;
  readonly synced?: boolean;
}

/** The time for which a rejected first stream may be retried, with the service's retry delays. */
const firstStreamBudgetMs = 30_000;

/**
 * Decides how to continue after the failure of a watch. It does no I/O and uses no clock: the
 * caller reports received batches and failures, and gets the delays to wait.
 */
export class RetryPolicy {
  readonly #options: RetryOptions & CredentialOptions;
  readonly #firstDelayMs: number;
  readonly #maxDelayMs: number;
  readonly #random: () => number;
  #failures = 0;
  /** Whether any stream has received a message. */
  #received = false;
  /** Whether the current stream has received a message. */
  #streamReceived = false;
  #budgetMs = firstStreamBudgetMs;

  constructor(options: RetryOptions & RetryDelays & CredentialOptions = {}) {
    this.#options = options;
    this.#firstDelayMs = options.firstDelayMs ?? 200;
    this.#maxDelayMs = options.maxDelayMs ?? 5_000;
    this.#random = options.random ?? Math.random;
  }

  /**
   * Records a batch. The stream counts as healthy when its resume token is not empty, and it is in
   * sync. A stream of several watches, which always has a token, is in sync when all watches are.
   */
  received({ resumeToken, synced = true }: Progress): void {
    this.#received = this.#streamReceived = true;
    if (resumeToken !== "" && synced) {
      this.#failures = 0;
    }
  }

  /**
   * Returns the number of milliseconds to wait before the next attempt; undefined if the error is
   * final.
   *
   * The first stream of a watch is retried only if the service sent a retry delay, so that a
   * wrong address is reported immediately. If the credentials of a stream have expired, the stream
   * is opened again immediately, because the next call may have other ones. A stream that is
   * rejected before its first message is retried only if the credentials can be renewed. A
   * rejected request with a resume token is retried, without the token.
   *
   * @param resumes Whether the request had a resume token, and no message was received.
   */
  failed(error: KubeconnectError, resumes = false): number | undefined {
    const wasOpen = this.#streamReceived;
    this.#streamReceived = false;
    const { reconnect = true, isFinal, renewsCredentials = false } = this.#options;
    if (!reconnect || error.isClosed) return undefined;
    if (isFinal !== undefined) return isFinal(error) ? undefined : this.#delay(error);
    if (error.code === Code.InvalidArgument && resumes) return 0;
    if (error.code === Code.Unauthenticated) {
      if (wasOpen) return 0;
      return renewsCredentials && this.#received ? this.#delay(error) : undefined;
    }
    if (!isRetryable(error)) return undefined;
    return this.#received ? this.#delay(error) : this.#firstStreamDelay(error);
  }

  /**
   * Returns the next delay. Half of it is random, so that callers that were disconnected together
   * do not reconnect together.
   */
  #delay(error: KubeconnectError): number {
    const longest = Math.min(this.#maxDelayMs, this.#firstDelayMs * 2 ** this.#failures++);
    return Math.max(longest * (0.5 + this.#random() / 2), error.retryAfterSeconds * 1000);
  }

  #firstStreamDelay({ retryAfterSeconds }: KubeconnectError): number | undefined {
    const delay = retryAfterSeconds * 1000;
    if (delay <= 0 || delay > this.#budgetMs) return undefined;
    this.#budgetMs -= delay;
    return delay;
  }
}

/** Returns whether the same call may succeed later. */
function isRetryable({ code, fromService, retryAfterSeconds }: KubeconnectError): boolean {
  if (code === Code.ResourceExhausted) return retryAfterSeconds > 0;
  return retryable.has(code) || (connectionFailures.has(code) && !fromService);
}

const retryable: ReadonlySet<Code> = new Set([Code.Unavailable, Code.DeadlineExceeded]);

/** The codes of calls on a connection that was reset, or that could not be opened. */
const connectionFailures: ReadonlySet<Code> = new Set([
  Code.Aborted,
  Code.Canceled,
  Code.Internal,
  Code.Unknown,
]);
