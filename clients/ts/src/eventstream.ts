import type { StreamOptions } from "./call.js";
import { ConnectionTracker, type ConnectionState } from "./connection.js";
import type { WatchEvent } from "./event.js";
import { reconnecting, type ReconnectLimits, type ReconnectOptions } from "./reconnect.js";
import { RetryPolicy, type CredentialOptions, type Progress } from "./retry.js";

/** Options of a stream of events. */
export interface EventStreamOptions extends StreamOptions, ReconnectOptions {
  /**
   * Resumes after the events that an earlier watch of the same selection delivered. If the
   * service cannot resume there, or if the token is empty, the watch begins with RESET.
   */
  readonly resumeToken?: string | undefined;
}

/** What all batches have. */
export interface StreamBatch extends Progress {
  readonly events: readonly WatchEvent<unknown>[];
  readonly resumeToken: string;
}

/**
 * A stream of events that reconnects by itself, to be iterated by event or by batch. Iterating
 * opens the stream, and leaving the loop closes it. A later iteration continues after the last
 * delivered event. Only one iteration may run at a time.
 *
 * The iteration never ends by itself. A stream that is lost, or silent for 12 seconds, is opened
 * again after a delay and resumes at its last position. The first message of a stream may take 60
 * seconds. If the service cannot resume at the position, it sends RESET and a new snapshot.
 *
 * The iteration throws if the stream is rejected, or if it is lost and `reconnect` is false. It
 * also throws if the first stream cannot be opened, unless the service sends a retry delay. If
 * the token of a stream has expired, the stream is opened again, once, with a new token.
 */
export abstract class EventStream<B extends StreamBatch, E> implements AsyncIterable<E> {
  readonly #options: EventStreamOptions & ReconnectLimits;
  readonly #connection: ConnectionTracker;
  readonly #retry: RetryPolicy;
  #resumeToken: string;
  /** The last received batch, and the number of its events that were delivered. */
  #batch: B | undefined;
  #delivered = 0;
  #iterating = false;

  constructor(options: EventStreamOptions & CredentialOptions) {
    this.#options = options;
    this.#resumeToken = options.resumeToken ?? "";
    this.#retry = new RetryPolicy(options);
    this.#connection = new ConnectionTracker((connection) => {
      if (connection.state !== "connected") this.markLost();
      options.onConnection?.(connection);
    });
  }

  /**
   * The token that resumes after the last delivered event. Store it together with your copy of
   * the objects, and pass it to the same call after a restart. It may be empty after a RESET:
   * store that too, because your copy is incomplete then.
   */
  get resumeToken(): string {
    return this.#resumeToken;
  }

  /** The connection state of the watch. */
  get connection(): ConnectionState {
    return this.#connection.state;
  }

  /** Iterates over the events. */
  async *[Symbol.asyncIterator](): AsyncGenerator<E, void, undefined> {
    for await (const batch of this.#batches()) {
      for (const event of batch.events) {
        this.#delivered++;
        if (event.type === "RESET") this.#resumeToken = "";
        if (this.#delivered === this.#batch?.events.length) this.#resumeToken = batch.resumeToken;
        yield this.deliver(batch, event);
      }
      this.#resumeToken = batch.resumeToken;
    }
  }

  /**
   * Iterates over the batches: the events of one message of the service at a time. This is low level,
   * for programs that store each batch with its token: `client.store` keeps a copy by itself.
   */
  async *batches(): AsyncGenerator<B, void, undefined> {
    for await (const batch of this.#batches()) {
      this.#delivered += batch.events.length;
      this.#resumeToken = batch.resumeToken;
      yield batch;
    }
  }

  /** Opens a stream, which resumes at the token, and reads its batches. */
  protected abstract open(signal: AbortSignal, resumeToken: string): AsyncIterable<B>;

  /** Returns what the iteration over events yields for an event of a batch. */
  protected abstract deliver(batch: B, event: B["events"][number]): E;

  /** Records that the stream is lost or closed. */
  protected abstract markLost(): void;

  async *#batches(): AsyncGenerator<B, void, undefined> {
    if (this.#iterating) throw new Error("the watch is being iterated: leave the other loop first");
    this.#iterating = true;
    try {
      const interrupted = this.#batch;
      if (interrupted && this.#delivered < interrupted.events.length) {
        yield { ...interrupted, events: interrupted.events.slice(this.#delivered) };
      }
      for await (const batch of this.#streams()) {
        this.#batch = batch;
        this.#delivered = 0;
        yield batch;
      }
    } finally {
      this.#iterating = false;
    }
  }

  #streams(): AsyncGenerator<B, never, undefined> {
    const { signal = new AbortController().signal } = this.#options;
    return reconnecting(
      (signal, resumeToken) => this.open(signal, resumeToken),
      this.#batch?.resumeToken ?? this.#resumeToken,
      signal,
      this.#options,
      { connection: this.#connection, retry: this.#retry },
    );
  }
}
