import {
  Code,
  KubeconnectError,
  type Client,
  type ConnectionState,
  type LogLinesOptions,
} from "@kubeconnect/client";
import { RowBuffer, type NewRow } from "./buffer.js";
import { lineRow, noteRow, sourceOf, type NoteRow, type Row } from "./row.js";

/** The rows that are shown at most, and those that are read at most while the view is paused. */
export const capacity = 50_000;
export const pausedCapacity = 10_000;

/** The state of a feed at one time. It never changes. */
export interface FeedSnapshot {
  readonly rows: readonly Row[];
  /** The containers that have appeared so far, in order. */
  readonly sources: readonly string[];
  /** The number of rows that were dropped because there were too many. */
  readonly dropped: number;
  readonly paused: boolean;
  /** The number of rows that were read while paused. */
  readonly waiting: number;
  readonly connection: ConnectionState | undefined;
  /** Why the logs have ended; undefined while they are read, and after their end. */
  readonly error: KubeconnectError | undefined;
  readonly ended: boolean;
  readonly warnings: readonly string[];
}

const emptySnapshot: FeedSnapshot = {
  rows: [],
  sources: [],
  dropped: 0,
  paused: false,
  waiting: 0,
  connection: undefined,
  error: undefined,
  ended: false,
  warnings: [],
};

/** The logs to read: the options of the client without those of the feed. */
export type LogQuery = Omit<LogLinesOptions, "signal" | "onEvent" | "onConnection" | "onRetry">;

/**
 * Reads logs into a bounded buffer, and notifies its listeners at most ten times a second, however many
 * lines arrive. The stream is open while there is a listener. A paused feed continues to read, up to
 * `pausedCapacity` rows, and shows them when it continues.
 */
export class LogFeed {
  readonly #client: Client;
  readonly #query: LogQuery;
  readonly #schedule: (callback: () => void) => void;
  readonly #listeners = new Set<() => void>();
  #rows = new RowBuffer(capacity);
  readonly #waiting = new RowBuffer(pausedCapacity);
  readonly #sources = new Set<string>();
  #state = emptySnapshot;
  #snapshot = emptySnapshot;
  #isScheduled = false;
  #reading: AbortController | undefined;

  /**
   * @param schedule Calls a function soon; by default in a frame, a tenth of a second later.
   */
  constructor(client: Client, query: LogQuery, schedule = nextFrame) {
    this.#client = client;
    this.#query = query;
    this.#schedule = schedule;
  }

  /** Calls the listener after each change. Needs no `this`. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    this.#start();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#stop();
    };
  };

  /** Returns the last state. Needs no `this`. */
  readonly getSnapshot = (): FeedSnapshot => this.#snapshot;

  pause(): void {
    this.#change({ paused: true });
  }

  /** Shows what was read while paused, and continues. */
  resume(): void {
    const lost = this.#waiting.dropped;
    if (lost > 0) {
      const text = `${lost.toLocaleString()} lines that were read while paused are not shown`;
      this.#rows.push({ kind: "note", source: "", tone: "warn", text });
    }
    this.#rows.push(...this.#waiting.take());
    this.#change({ paused: false });
  }

  #start(): void {
    if (this.#reading) return;
    const reading = (this.#reading = new AbortController());
    this.#rows = new RowBuffer(capacity);
    this.#waiting.take();
    this.#sources.clear();
    this.#change({ ...emptySnapshot, paused: this.#state.paused });
    this.#read(reading.signal).then(
      () => {
        this.#change({ ended: true }, reading);
      },
      (error: unknown) => {
        this.#change({ error: KubeconnectError.from(error) }, reading);
      },
    );
  }

  #stop(): void {
    this.#reading?.abort();
    this.#reading = undefined;
  }

  async #read(signal: AbortSignal): Promise<void> {
    const lines = this.#client.logLines({
      ...this.#query,
      signal,
      onEvent: (event) => {
        if (event.pod && event.container) this.#sources.add(sourceOf(event));
        this.#push(noteRow(event));
      },
      onConnection: (connection) => {
        if (!signal.aborted) this.#connected(connection);
      },
    });
    for await (const line of lines) {
      const row = lineRow(line);
      this.#sources.add(row.source);
      this.#push(row);
      if (lines.warnings !== this.#state.warnings) this.#change({ warnings: lines.warnings });
    }
  }

  #push(row: NewRow): void {
    (this.#state.paused ? this.#waiting : this.#rows).push(row);
    this.#changed();
  }

  #connected(connection: ConnectionState): void {
    const earlier = this.#state.connection;
    const note = connectionNote(earlier, connection);
    if (note) this.#push(note);
    this.#change({ connection });
  }

  /** Changes the state, unless it is of a stream that was left meanwhile. */
  #change(state: Partial<FeedSnapshot>, reading = this.#reading): void {
    if (reading !== this.#reading) return;
    this.#state = { ...this.#state, ...state };
    this.#changed();
  }

  #changed(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#schedule(() => {
      this.#isScheduled = false;
      this.#publish();
    });
  }

  #publish(): void {
    const { paused } = this.#state;
    const shown = paused && this.#snapshot.paused ? this.#snapshot.rows : this.#rows.rows();
    const sources = [...this.#sources].sort();
    this.#snapshot = {
      ...this.#state,
      rows: shown,
      sources: sources.length === this.#snapshot.sources.length ? this.#snapshot.sources : sources,
      dropped: this.#rows.dropped,
      waiting: this.#waiting.size + this.#waiting.dropped,
    };
    for (const listener of [...this.#listeners]) listener();
  }
}

/** Refusals, after which the logs end. */
const refusals: ReadonlySet<Code> = new Set([
  Code.InvalidArgument,
  Code.NotFound,
  Code.PermissionDenied,
  Code.Unauthenticated,
]);

/** Returns the note about a connection that was lost or is back. A refusal is no loss. */
export function connectionNote(
  earlier: ConnectionState | undefined,
  connection: ConnectionState,
): NoteRow | undefined {
  if (connection.state === "lost") {
    const { since, error } = connection;
    if (refusals.has(error.code)) return undefined;
    const text = `connection lost; the last message was at ${since.toLocaleTimeString()}`;
    return { kind: "note", source: "", tone: "bad", text };
  }
  if (connection.state === "connected" && earlier?.state === "lost") {
    const text = "connected again; the logs continue after the last line";
    return { kind: "note", source: "", tone: "info", text };
  }
  return undefined;
}

/**
 * Calls the function in a frame soon, at most ten times a second: people read no faster, and each
 * time the list is measured. A hidden page has no frames.
 */
function nextFrame(callback: () => void): void {
  setTimeout(() => {
    if (document.hidden) callback();
    else requestAnimationFrame(callback);
  }, 100);
}
