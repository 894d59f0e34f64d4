import { timestampDate, type Timestamp } from "@bufbuild/protobuf/wkt";
import {
  LogEventType as TypeValue,
  type LogEvent as EventMessage,
  type LogLine as LineMessage,
} from "./gen/kubeconnect/v1/log_lines_pb.js";

/** A line of the log of a container. */
export class LogLine {
  readonly namespace: string;
  /** The pod's name. */
  readonly pod: string;
  readonly container: string;
  /** The time at which the node recorded the line, rounded down to a millisecond. */
  readonly time: Date;
  /** The same time with nanoseconds (RFC 3339). */
  readonly timestamp: string;
  /** The bytes that the container wrote, without the line end. */
  readonly bytes: Uint8Array;
  /** Whether the line is longer than 64 KiB, and continues with the container's next line. */
  readonly cut: boolean;
  /** Whether the line does not match the `lineFilter`, and is near a line that does. */
  readonly context: boolean;
  /** Whether lines of the container were omitted before this one. grep prints "--" there. */
  readonly gap: boolean;

  /** @internal */
  constructor({ namespace, pod, container, time, text, cut, context, gap }: LineMessage) {
    this.namespace = namespace;
    this.pod = pod;
    this.container = container;
    this.time = time ? timestampDate(time) : new Date(0);
    this.timestamp = time ? rfc3339(time) : "";
    this.bytes = text;
    this.cut = cut;
    this.context = context;
    this.gap = gap;
  }

  /** The line as text. Invalid UTF-8 is replaced by U+FFFD. */
  get text(): string {
    return utf8.decode(this.bytes);
  }
}

/**
 * What happens to a log. BEGAN: the log of a run of a container is opened, and its lines follow.
 * ENDED: no line of this run follows; the reason is that of the container's termination, or "Read",
 * "PodDeleted", "PodNotSelected" or "LimitReached". WAITING: there is no log to read yet. FAILED:
 * the log could not be read; with `follow` it is opened again, unless the reason is "Forbidden" or
 * "NotFound". LINES_LOST: lines may be missing here. LIMIT_REACHED: a limit is reached, of a pod if
 * the event names one.
 */
export type LogEventType =
  "BEGAN" | "ENDED" | "WAITING" | "FAILED" | "LINES_LOST" | "LIMIT_REACHED";

/** What happens to the log of a container. */
export interface LogEvent {
  readonly type: LogEventType;
  readonly namespace: string;
  /** The pod's name; empty if the event is of all logs. */
  readonly pod: string;
  /** Distinguishes a pod from a later pod with the same name. */
  readonly podUid: string;
  /** Empty if the event is of all containers of the pod. */
  readonly container: string;
  /** How often the container was restarted before this run. */
  readonly restartCount: number;
  /** The machine-readable reason; see LogEventType. */
  readonly reason: string;
  /** The human-readable description. */
  readonly message: string;
  /** The exit code of a container that has terminated. */
  readonly exitCode: number | undefined;
}

/** Converts an event; undefined for a type that this version of the client does not know. */
export function logEventFrom({ type, ...event }: EventMessage): LogEvent | undefined {
  const { namespace, pod, podUid, container, restartCount, reason, message, exitCode } = event;
  const name = eventTypes.get(type);
  const log = { namespace, pod, podUid, container, restartCount };
  return name && { type: name, ...log, reason, message, exitCode };
}

const eventTypes: ReadonlyMap<TypeValue, LogEventType> = new Map([
  [TypeValue.BEGAN, "BEGAN"],
  [TypeValue.ENDED, "ENDED"],
  [TypeValue.WAITING, "WAITING"],
  [TypeValue.FAILED, "FAILED"],
  [TypeValue.LINES_LOST, "LINES_LOST"],
  [TypeValue.LIMIT_REACHED, "LIMIT_REACHED"],
]);

function rfc3339({ seconds, nanos }: Timestamp): string {
  const date = new Date(Number(seconds) * 1000).toISOString();
  return `${date.slice(0, "2006-01-02T15:04:05".length)}.${String(nanos).padStart(9, "0")}Z`;
}

const utf8 = new TextDecoder("utf-8", { ignoreBOM: true });
