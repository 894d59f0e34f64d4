import type { LogEvent, LogLine } from "@kubeconnect/client";
import { levelOf, type Level } from "./levels.js";
import { plainText } from "./plain.js";

/** A line of a container's log. */
export interface LineRow {
  readonly kind: "line";
  /** The container that has written the line: see `sourceOf`. */
  readonly source: string;
  /** RFC 3339 with nanoseconds. */
  readonly timestamp: string;
  /** The text without the escape sequences of terminals. */
  readonly text: string;
  readonly level: Level | undefined;
  /** Whether the line is only near a line that matches the filter. */
  readonly context: boolean;
  /** Whether lines of the container were omitted before this one. */
  readonly gap: boolean;
  /** Whether the line continues in the container's next line. */
  readonly cut: boolean;
}

/** Something that has happened to a log, or to the connection. */
export interface NoteRow {
  readonly kind: "note";
  /** The container; empty if the note is about all of them. */
  readonly source: string;
  readonly tone: "info" | "warn" | "bad";
  readonly text: string;
  /** How often it has happened; undefined for once. */
  readonly times?: number;
}

/** A row of the log view. The id is its place among all rows that were ever read. */
export type Row = (LineRow | NoteRow) & { readonly id: number };

/** Returns the name of a container among those of several pods: "web-0/app". */
export function sourceOf({ pod, container }: Pick<LogLine, "pod" | "container">): string {
  return container ? `${pod}/${container}` : pod;
}

export function lineRow(line: LogLine): LineRow {
  const text = plainText(line.text);
  const { timestamp, context, gap, cut } = line;
  return {
    kind: "line",
    source: sourceOf(line),
    timestamp,
    text,
    level: levelOf(text),
    context,
    gap,
    cut,
  };
}

/** Returns the note that reports an event in people's words. */
export function noteRow(event: LogEvent): NoteRow {
  const source = sourceOf(event);
  return { kind: "note", source, ...wordsOf(event) };
}

function wordsOf(event: LogEvent): Pick<NoteRow, "tone" | "text"> {
  const { type, reason, message, restartCount } = event;
  switch (type) {
    case "BEGAN": {
      const run = restartCount > 0 ? ` (after ${times(restartCount, "restart")})` : "";
      return { tone: "info", text: `the log begins${run}` };
    }
    case "ENDED":
      return endedWords(event);
    case "WAITING":
      return { tone: "info", text: `no log yet: ${explained(reason, message)}` };
    case "FAILED":
      return { tone: "bad", text: `the log could not be read: ${explained(reason, message)}` };
    case "LINES_LOST":
      return { tone: "warn", text: `lines may be missing here: ${explained(reason, message)}` };
    case "LIMIT_REACHED":
      return { tone: "warn", text: "the limit of lines is reached" };
  }
}

const endings: Readonly<Record<string, string>> = {
  "": "the log ends",
  Read: "the log ends here for now: the container still runs",
  PodDeleted: "the pod was deleted",
  PodNotSelected: "the pod is not selected any more",
  LimitReached: "the limit of lines is reached",
};

function endedWords({ reason, message, exitCode }: LogEvent): Pick<NoteRow, "tone" | "text"> {
  const failed = exitCode !== undefined && exitCode !== 0;
  const known = endings[reason];
  if (known && !failed) return { tone: "info", text: known };
  const code = exitCode === undefined ? "" : `, exit code ${exitCode}`;
  const text = `the container has ended: ${explained(reason || "Ended", message)}${code}`;
  return { tone: failed ? "bad" : "info", text };
}

function explained(reason: string, message: string): string {
  return [reason, message].filter(Boolean).join(": ") || "no reason is known";
}

function times(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
