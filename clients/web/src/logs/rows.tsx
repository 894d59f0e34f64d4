import {
  useEffect,
  useEffectEvent,
  useImperativeHandle,
  useLayoutEffect,
  useRef,
  useState,
  type CSSProperties,
  type KeyboardEvent,
  type Ref,
  type RefObject,
} from "react";
import { copy, RowContent } from "./line.js";
import styles from "./logs.module.css";
import type { Row } from "./row.js";
import type { LogSettings } from "./settings.js";
import { nameColumns } from "./sources.js";
import { useFixedRows, useMeasuredRows, type RowWindow } from "./window.js";

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

/** What remains when the list is rendered in the other way. */
interface Place {
  readonly selected: number | undefined;
  readonly onSelect: (id: number) => void;
  /** The id of the first visible row. */
  readonly topRef: RefObject<number | undefined>;
}

/** The rows of logs, of which only the visible ones are in the document. */
export function LogRows(props: Props) {
  const [selected, onSelect] = useState<number>();
  const topRef = useRef<number>(undefined);
  const List = props.settings.wrap ? WrappedRows : FixedRows;
  return <List {...props} selected={selected} onSelect={onSelect} topRef={topRef} />;
}

function FixedRows(props: Props & Place) {
  const scrollerRef = useRef<HTMLDivElement>(null);
  const window = useFixedRows(scrollerRef, props.rows.length);
  return <List {...props} scrollerRef={scrollerRef} window={window} />;
}

function WrappedRows(props: Props & Place) {
  const scrollerRef = useRef<HTMLDivElement>(null);
  const window = useMeasuredRows(scrollerRef, props.rows);
  return <List {...props} scrollerRef={scrollerRef} window={window} />;
}

interface ListProps extends Props, Place {
  readonly scrollerRef: RefObject<HTMLDivElement | null>;
  readonly window: RowWindow;
}

function List(props: ListProps) {
  const { ref, rows, isFollowed, onLeaveEnd, settings, query, present, colors, labels } = props;
  const { scrollerRef, window, selected, onSelect } = props;
  usePlace(props);
  useImperativeHandle(ref, () => ({
    scrollTo: (id) => {
      onSelect(id);
      window.scrollTo(indexOfId(rows, id), "center");
    },
    scrollToEnd: () => {
      window.scrollTo(rows.length - 1, "end");
    },
  }));
  return (
    <div
      ref={scrollerRef}
      className={styles.rows}
      data-wrap={settings.wrap}
      role="log"
      aria-live="off"
      aria-label="Lines of the logs"
      tabIndex={0}
      onKeyDown={(event) => {
        onKeyDown(event, props);
      }}
      onWheel={({ deltaY }) => {
        if (deltaY < 0 && isFollowed && isScrollable(scrollerRef.current)) onLeaveEnd();
      }}
      onTouchMove={() => {
        if (isFollowed && isScrollable(scrollerRef.current)) onLeaveEnd();
      }}
      onPointerDown={({ target, currentTarget }) => {
        if (target === currentTarget && isFollowed) onLeaveEnd(); // the scroll bar
      }}
    >
      <div className={styles.sizer} style={{ height: window.height, ...nameWidth(labels) }}>
        {window.placed.map(({ index, start }) => {
          const row = rows[index];
          if (!row) return null;
          return (
            <div
              key={row.id}
              ref={window.measure}
              data-index={index}
              className={styles.row}
              style={{ transform: `translateY(${start}px)` }}
              aria-current={row.id === (selected ?? present) ? "true" : undefined}
              onClick={() => {
                onSelect(row.id);
              }}
            >
              <RowContent
                row={row}
                times={settings.times}
                query={query}
                colors={colors}
                labels={labels}
              />
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** Returns the width of the column with the names of the containers, which all rows inherit. */
function nameWidth(labels: Props["labels"]): CSSProperties {
  if (!labels) return {};
  return { "--names": `${nameColumns(labels)}ch` } as CSSProperties;
}

/** Keeps the list at its end while it is followed, and else at the row where it was. */
function usePlace({ rows, isFollowed, window: { first, scrollTo }, topRef }: ListProps): void {
  const onFirst = useEffectEvent(() => {
    if (isFollowed || topRef.current === undefined) return;
    scrollTo(indexOfId(rows, topRef.current), "start");
  });
  useLayoutEffect(() => {
    onFirst();
  }, []);
  useLayoutEffect(() => {
    if (isFollowed && rows.length > 0) scrollTo(rows.length - 1, "end");
  }, [scrollTo, isFollowed, rows]);
  useEffect(() => {
    topRef.current = rows[first]?.id;
  }, [rows, first, topRef]);
}

/** Selects another row, or copies the selected one. */
function onKeyDown(event: KeyboardEvent, props: ListProps): void {
  const { rows, selected, onSelect, onLeaveEnd, window } = props;
  const step = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 }[event.key];
  const at = selected === undefined ? undefined : indexOfId(rows, selected);
  if (step !== undefined) {
    const next = Math.min(rows.length - 1, Math.max(0, (at ?? rows.length) + step));
    const row = rows[next];
    if (!row) return;
    event.preventDefault();
    onLeaveEnd();
    onSelect(row.id);
    window.scrollTo(next, "nearest");
  }
  const row = at === undefined ? undefined : rows[at];
  if (event.key === "c" && !event.ctrlKey && !event.metaKey && row) copy(row);
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
