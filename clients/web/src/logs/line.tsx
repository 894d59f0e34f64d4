import { memo } from "react";
import styles from "./logs.module.css";
import type { LineRow, Row } from "./row.js";
import { partsOf } from "./search.js";

/** Copies the text of a row to the clipboard. */
export function copy({ text }: Row): void {
  void navigator.clipboard.writeText(text);
}

interface Props {
  readonly row: Row;
  readonly times: boolean;
  /** The text that is searched. */
  readonly query: string;
  readonly colors: ReadonlyMap<string, number>;
  /** The names of the containers; undefined if there is only one. */
  readonly labels: ReadonlyMap<string, string> | undefined;
}

/** What a row says. It is rendered again only if that changes, and not when the row moves. */
export const RowContent = memo(function RowContent({ row, times, query, colors, labels }: Props) {
  const source = labels?.get(row.source) ?? row.source;
  if (row.kind === "note") {
    return (
      <span className={styles.note} data-tone={row.tone}>
        {source && `${source}: `}
        {row.text}
        {row.times !== undefined && <b> ({row.times.toLocaleString()} times)</b>}
      </span>
    );
  }
  return (
    <>
      {times && <Time timestamp={row.timestamp} />}
      {labels && (
        <span className={styles.name} data-color={colors.get(row.source)} title={row.source}>
          {source}
        </span>
      )}
      <LevelMark row={row} />
      <span className={styles.text} data-level={row.level} data-context={row.context}>
        <Text text={row.text} query={query} />
        {row.cut && <span className={styles.cut}> (continues)</span>}
      </span>
      <button
        type="button"
        className={styles.copy}
        tabIndex={-1}
        title="Copy the line (c)"
        onClick={() => {
          copy(row);
        }}
      >
        Copy
      </button>
    </>
  );
});

function Time({ timestamp }: { readonly timestamp: string }) {
  const date = new Date(timestamp);
  return (
    <time className={styles.time} dateTime={timestamp} title={timestamp}>
      {clock.format(date)}
    </time>
  );
}

const clock = new Intl.DateTimeFormat("en-GB", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  fractionalSecondDigits: 3,
});

const marks = { error: "E", warn: "W", info: "I", debug: "D" } as const;

/** The letter of the level, and "--" as grep prints it where lines were omitted. */
function LevelMark({ row: { level, gap } }: { readonly row: LineRow }) {
  return (
    <span className={styles.level} data-level={level} title={gap ? omitted : level}>
      {gap ? "--" : level && marks[level]}
    </span>
  );
}

const omitted = "lines before this one are not shown, because they do not match the filter";

function Text({ text, query }: { readonly text: string; readonly query: string }) {
  if (query === "") return text;
  return partsOf(text, query).map(({ text: part, isMatch }, index) =>
    isMatch ? <mark key={index}>{part}</mark> : part,
  );
}
