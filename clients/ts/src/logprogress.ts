import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import {
  LogEventType,
  LogPositionSchema,
  type GetLogLinesRequestSchema,
  type GetLogLinesResponse,
  type LogPosition,
} from "./gen/kubeconnect/v1/log_lines_pb.js";

export type LogLinesRequest = MessageInitShape<typeof GetLogLinesRequestSchema>;

/** The number of containers of which the service accepts positions. */
const mostPositions = 4096;

/**
 * How far the logs were received, over all streams. A later stream begins after the last line of
 * each container. It does no I/O.
 */
export class LogProgress {
  readonly #first: LogLinesRequest;
  readonly #begin = Date.now();
  /** The last position of each container; the one that has not changed for the longest first. */
  readonly #positions = new Map<string, LogPosition>();
  #received = false;
  #limitReached = false;
  #lineCount = 0n;
  #byteCount = 0n;

  constructor(request: LogLinesRequest) {
    this.#first = request;
  }

  /** Whether the end of the stream is the end of the logs. */
  get isFinite(): boolean {
    return this.#first.follow !== true || this.#limitReached;
  }

  /** The request of the next stream. */
  get request(): LogLinesRequest {
    const { limitLines, limitBytes, sinceSeconds, ...request } = this.#first;
    if (!this.#received) return this.#first;
    const since = this.#begin - Number(sinceSeconds ?? 0n) * 1000;
    return {
      ...request,
      ...(sinceSeconds !== undefined && { sinceTime: timestampFromMs(since) }),
      ...(limitLines !== undefined && { limitLines: rest(limitLines, this.#lineCount) }),
      ...(limitBytes !== undefined && { limitBytes: rest(limitBytes, this.#byteCount) }),
      resumeAfter: [...this.#positions.values()],
    };
  }

  /** Records a message. Returns whether the stream has made progress. */
  received({ events, lines, positions }: GetLogLinesResponse): boolean {
    this.#received = true;
    const { LIMIT_REACHED } = LogEventType;
    this.#limitReached ||= events.some(({ type, pod }) => type === LIMIT_REACHED && pod === "");
    for (const line of lines) {
      this.#lineCount++;
      this.#byteCount += BigInt(line.text.length);
    }
    for (const position of [...lines, ...positions]) this.#reach(position);
    return lines.length + positions.length > 0;
  }

  #reach({ namespace, pod, container, time, sequence }: Omit<LogPosition, "$typeName">): void {
    const key = `${namespace}/${pod}/${container}`;
    const place = { namespace, pod, container, sequence, ...(time && { time }) };
    this.#positions.delete(key);
    this.#positions.set(key, create(LogPositionSchema, place));
    if (this.#positions.size <= mostPositions) return;
    const [oldest = key] = this.#positions.keys();
    this.#positions.delete(oldest);
  }
}

/** Returns what is left of a limit; at least 1, because the service accepts no lower limit. */
function rest(limit: bigint, used: bigint): bigint {
  return limit > used ? limit - used : 1n;
}
