import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { Client } from "@connectrpc/connect";
import { stream, type StreamOptions } from "./call.js";
import { ConnectionTracker, type ConnectionState } from "./connection.js";
import type { GetLogLinesResponse } from "./gen/kubeconnect/v1/log_lines_pb.js";
import type { PodService } from "./gen/kubeconnect/v1/pod_service_pb.js";
import { logEventFrom, LogLine, type LogEvent } from "./logline.js";
import { LogProgress, type LogLinesRequest } from "./logprogress.js";
import { reconnecting, type ReconnectOptions } from "./reconnect.js";
import { RetryPolicy, type CredentialOptions, type Progress } from "./retry.js";
import { selectionFields, type Selection } from "./selection.js";

/**
 * Selects lines, in the log of each container separately, as grep does with a file. Either
 * `contains` or `regex` is required.
 */
export interface LineFilter {
  /** The text that a line must contain. */
  readonly contains?: string | undefined;
  /** The regular expression (RE2) that a line must match at any place. */
  readonly regex?: string | undefined;
  /** Whether upper and lower case letters are the same. */
  readonly ignoreCase?: boolean | undefined;
  /** Whether to select the lines that do not match. */
  readonly invert?: boolean | undefined;
  /** The number of lines to return also before each selected line; at most 100. */
  readonly beforeLines?: number | undefined;
  /** The number of lines to return also after each selected line; at most 100. */
  readonly afterLines?: number | undefined;
}

/** The logs to read, the lines to return, and their limits. The selection is of pods. */
export interface LogLinesOptions extends Selection, StreamOptions, ReconnectOptions {
  /** One pod by its name. The permissions for that name are sufficient then. */
  readonly name?: string | undefined;
  /** Waits until the cache of pods has reached this version, as in ReadOptions. */
  readonly minResourceVersion?: string | undefined;
  /** The containers whose whole name matches this regular expression. Default: all. */
  readonly container?: string | undefined;
  /** Not the containers whose whole name matches this regular expression. */
  readonly excludeContainer?: string | undefined;
  /** Continues with new lines, containers that restart, and new pods, until the loop is left. */
  readonly follow?: boolean | undefined;
  /** Reads the logs of the containers' previous runs. Not together with `follow`. */
  readonly previous?: boolean | undefined;
  /** Begins this number of seconds ago; at least 1. Not together with `sinceTime`. */
  readonly sinceSeconds?: number | undefined;
  /** Begins at this time. */
  readonly sinceTime?: Date | undefined;
  /** Begins each container with its last n lines. Default: with the first line. */
  readonly tailLines?: number | undefined;
  /** The lines to return. Default: all. */
  readonly lineFilter?: LineFilter | undefined;
  /** Ends after this number of lines; at least 1. Default: no limit. */
  readonly limitLines?: number | undefined;
  /** Ends the logs of a pod after this number of lines. Each stream counts from zero. */
  readonly limitLinesPerPod?: number | undefined;
  /** Ends before this number of bytes is exceeded; at least 1. Default: no limit. */
  readonly limitBytes?: number | undefined;
  /**
   * The number of containers that are read at a time; at most 128. The call is rejected if there
   * are more when it begins. Default: 50.
   */
  readonly maxLogs?: number | undefined;
  /** Called with what happens to the logs, before the lines that follow. */
  readonly onEvent?: ((event: LogEvent) => void) | undefined;
}

interface Batch extends Progress {
  /** Undefined after the end of the logs. */
  readonly response: GetLogLinesResponse | undefined;
}

/**
 * The logs of the containers of a selection of pods, as lines. Each iteration opens a stream, and
 * leaving the loop closes it. Lines that exist are in the order of time, later lines in the order
 * of their arrival.
 *
 * The iteration ends with the logs, unless they are followed. A stream that is lost is opened again
 * as by a watch, and continues after the last line of each container: no line is lost, and none is
 * returned twice, as long as the node has the lines.
 */
export class LogLines implements AsyncIterable<LogLine> {
  readonly #service: Client<typeof PodService>;
  readonly #options: LogLinesOptions & CredentialOptions;
  readonly #connection: ConnectionTracker;
  #namespaces: readonly string[] = [];
  #warnings: readonly string[] = [];

  /** @internal */
  constructor(service: Client<typeof PodService>, options: LogLinesOptions & CredentialOptions) {
    this.#service = service;
    this.#options = options;
    this.#connection = new ConnectionTracker(options.onConnection);
  }

  /** The connection state, as of a watch. */
  get connection(): ConnectionState {
    return this.#connection.state;
  }

  /** The namespaces that the logs cover, as in ListPage, as last sent. */
  get namespaces(): readonly string[] {
    return this.#namespaces;
  }

  /** The human-readable warnings, as last sent. */
  get warnings(): readonly string[] {
    return this.#warnings;
  }

  /** Iterates over the lines. */
  async *[Symbol.asyncIterator](): AsyncGenerator<LogLine, void, undefined> {
    const { signal = new AbortController().signal, onEvent } = this.#options;
    const progress = new LogProgress(requestOf(this.#options));
    const state = { connection: this.#connection, retry: new RetryPolicy(this.#options) };
    const open = (signal: AbortSignal): AsyncIterable<Batch> => this.#open(progress, signal);
    for await (const { response } of reconnecting(open, "", signal, this.#options, state)) {
      if (response === undefined) return;
      this.#read(response);
      for (const event of response.events) {
        const converted = logEventFrom(event);
        if (converted) onEvent?.(converted);
      }
      for (const line of response.lines) yield new LogLine(line);
    }
  }

  async *#open(progress: LogProgress, signal: AbortSignal): AsyncGenerator<Batch, void, undefined> {
    const { headers } = this.#options;
    for await (const response of stream({ signal, headers }, (call) =>
      this.#service.getLogLines(progress.request, call),
    )) {
      yield { response, synced: progress.received(response) };
    }
    if (progress.isFinite) yield { response: undefined };
  }

  #read({ namespaces, coversAll, warnings }: GetLogLinesResponse): void {
    if (coversAll || namespaces.length > 0) this.#namespaces = namespaces;
    if (warnings.length > 0) this.#warnings = warnings;
  }
}

function requestOf(options: LogLinesOptions): LogLinesRequest {
  const { name = "", minResourceVersion = "", container = "", excludeContainer = "" } = options;
  const { follow = false, previous = false, maxLogs = 0, lineFilter, sinceTime } = options;
  return {
    ...selectionFields(options),
    name,
    minResourceVersion,
    container,
    excludeContainer,
    follow,
    previous,
    maxLogs,
    ...(sinceTime && { sinceTime: timestampFromDate(sinceTime) }),
    ...(lineFilter && { lineFilter: lineFilterFrom(lineFilter) }),
    ...numbersOf(options),
  };
}

function numbersOf(options: LogLinesOptions) {
  const { sinceSeconds, tailLines, limitLines, limitLinesPerPod, limitBytes } = options;
  return {
    ...(sinceSeconds !== undefined && { sinceSeconds: BigInt(sinceSeconds) }),
    ...(tailLines !== undefined && { tailLines: BigInt(tailLines) }),
    ...(limitLines !== undefined && { limitLines: BigInt(limitLines) }),
    ...(limitLinesPerPod !== undefined && { limitLinesPerPod: BigInt(limitLinesPerPod) }),
    ...(limitBytes !== undefined && { limitBytes: BigInt(limitBytes) }),
  };
}

function lineFilterFrom({
  contains = "",
  regex = "",
  ignoreCase = false,
  invert = false,
  beforeLines = 0,
  afterLines = 0,
}: LineFilter) {
  return { contains, regex, ignoreCase, invert, beforeLines, afterLines };
}
