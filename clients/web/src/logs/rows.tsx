import { useVirtualizer } from "@tanstack/react-virtual";
import {
  useEffect,
  useImperativeHandle,
  useLayoutEffect,
  useRef,
  useState,
  type KeyboardEvent,
  type Ref,
} from "react";
import type { LineRow, Row } from "./row.js";
import { partsOf } from "./search.js";
import type { LogSettings } from "./settings.js";
import styles from "./logs.module.css";

/** What the log view can make the list do. */
export interface LogRowsHandle {
  scrollTo(id: number): void;
  scrollToEnd(): void;
}

interface Props {
  readonly ref: Ref<LogRowsHandle>;
  readonly rows: readonly Row[];
  /** Whether the list remains at its end when rows are added. */
  readonly isFollowed: boolean;
  /** Called when the user scrolls away from the end. */
  readonly onLeaveEnd: () => void;
  readonly settings: LogSettings;
  readonly query: string;
  /** The id of the present match of the search. */
  readonly present: number | undefined;
  readonly colors: ReadonlyMap<string, number>;
  /** The names of the containers; undefined if there is only one. */
  readonly labels: ReadonlyMap<string, string> | undefined;
}

const rowHeight = 20;

/** The rows of logs, of which only the visible ones are in the document. */
export function LogRows({ ref, rows, isFollowed, onLeaveEnd, settings, query, ...rest }: Props) {
  const scroller = useRef<HTMLDivElement>(null);
  const [selected, setSelected] = useState<number>();
  const { wrap } = settings;
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    getItemKey: (index) => rows[index]?.id ?? index,
    overscan: 20,
  });
  const last = rows.length - 1;
  const indexOf = (id: number) => indexOfId(rows, id);
  useImperativeHandle(ref, () => ({
    scrollTo: (id) => {
      setSelected(id);
      virtual.scrollToIndex(indexOf(id), { align: "center" });
    },
    scrollToEnd: () => {
      virtual.scrollToIndex(rows.length - 1, { align: "end" });
    },
  }));
  useLayoutEffect(() => {
    if (isFollowed && last >= 0) virtual.scrollToIndex(last, { align: "end" });
  }, [virtual, isFollowed, last, rows, wrap]);
  useEffect(() => {
    virtual.measure();
  }, [virtual, wrap]);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
    if (step !== undefined) {
      const from = selected === undefined ? rows.length : indexOf(selected);
      const row = rows[Math.min(last, Math.max(0, from + step))];
      if (!row) return;
      event.preventDefault();
      onLeaveEnd();
      setSelected(row.id);
      virtual.scrollToIndex(indexOf(row.id), { align: "auto" });
    }
    const row = selected === undefined ? undefined : rows[indexOf(selected)];
    if (event.key === "c" && !event.ctrlKey && !event.metaKey && row) copy(row);
  };
  return (
    <div
      ref={scroller}
      className={styles.rows}
      data-wrap={wrap}
      role="log"
      aria-live="off"
      aria-label="Lines of the logs"
      tabIndex={0}
      onKeyDown={onKeyDown}
      onWheel={({ deltaY }) => {
        if (deltaY < 0 && isFollowed && isScrollable(scroller.current)) onLeaveEnd();
      }}
      onTouchMove={() => {
        if (isFollowed && isScrollable(scroller.current)) onLeaveEnd();
      }}
      onPointerDown={({ target, currentTarget }) => {
        if (target === currentTarget && isFollowed) onLeaveEnd(); // the scroll bar
      }}
    >
      <div className={styles.sizer} style={{ height: virtual.getTotalSize() }}>
        {virtual.getVirtualItems().map(({ index, key, start }) => {
          const row = rows[index];
          if (!row) return null;
          return (
            <div
              key={key}
              ref={wrap ? virtual.measureElement : undefined}
              data-index={index}
              className={styles.row}
              style={{ transform: `translateY(${start}px)` }}
              aria-current={row.id === (selected ?? rest.present) ? "true" : undefined}
              onClick={() => {
                setSelected(row.id);
              }}
            >
              <RowContent row={row} times={settings.times} query={query} {...rest} />
            </div>
          );
        })}
      </div>
    </div>
  );
}

function isScrollable(element: HTMLElement | null): boolean {
  return element !== null && element.scrollHeight > element.clientHeight;
}

/** Returns the index of a row. The ids of rows ascend. */
function indexOfId(rows: readonly Row[], id: number): number {
  let [low, high] = [0, rows.length - 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rows[middle]?.id ?? 0) < id) low = middle + 1;
    else high = middle;
  }
  return low;
}

function copy({ text }: Row): void {
  void navigator.clipboard.writeText(text);
}

type ContentProps = Pick<Props, "query" | "colors" | "labels"> & {
  readonly row: Row;
  readonly times: boolean;
};

function RowContent({ row, times, query, colors, labels }: ContentProps) {
  const source = labels?.get(row.source) ?? row.source;
  if (row.kind === "note") {
    return (
      <span className={styles.note} data-tone={row.tone}>
        {source && `${source}: `}
        {row.text}
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
}

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
