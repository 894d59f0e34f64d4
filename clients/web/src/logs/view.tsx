import { useClient } from "@kubeconnect/client/react";
import {
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
  type RefObject,
} from "react";
import { Button } from "../ui/button.js";
import { Empty, Notice } from "../ui/notice.js";
import { LogFeed, type FeedSnapshot, type LogQuery } from "./feed.js";
import { Legend } from "./legend.js";
import { LogRows, type LogRowsHandle } from "./rows.js";
import { Finder, nextMatch } from "./search.js";
import { colorsOf, fileText, labelsOf } from "./sources.js";
import { defaultSettings, queryOf, Settings, type LogSettings } from "./settings.js";
import { SearchBar } from "./searchbar.js";
import styles from "./logs.module.css";
import type { Row } from "./row.js";

interface Props {
  /** The pods whose logs are read. Compared by value. */
  readonly pods: LogQuery;
  /** The containers of the pods, to choose one; none to read all. */
  readonly containers?: readonly string[];
  /** The container that is chosen at first. */
  readonly container?: string | undefined;
  /** The text that is searched at first. */
  readonly find?: string | undefined;
  readonly onFind?: (text: string) => void;
}

/** The logs of one or several pods, followed. */
export function LogView({ pods, containers = [], container, find = "", onFind }: Props) {
  const [settings, setSettings] = useState<LogSettings>({ ...defaultSettings, container });
  const [query, setQuery] = useState(find);
  const [hidden, setHidden] = useState<ReadonlySet<string>>(new Set());
  const feed = useFeed(queryOf(pods, settings));
  const snapshot = useSyncExternalStore(feed.subscribe, feed.getSnapshot);
  const rows = useMemo(() => visibleRows(snapshot.rows, hidden), [snapshot.rows, hidden]);
  const search = useSearch(rows, query);
  const list = useRef<LogRowsHandle>(null);
  const searchField = useRef<HTMLInputElement>(null);
  const { sources } = snapshot;
  const colors = useMemo(() => colorsOf(sources), [sources]);
  const labels = useMemo(() => labelsOf(sources), [sources]);
  const togglePause = useCallback(() => {
    if (feed.getSnapshot().paused) feed.resume();
    else feed.pause();
  }, [feed]);
  const jump = useCallback(() => {
    feed.resume();
    list.current?.scrollToEnd();
  }, [feed]);
  useShortcuts(searchField, togglePause, jump);
  const step = (direction: 1 | -1) => {
    const id = search.step(direction);
    if (id === undefined) return;
    feed.pause();
    list.current?.scrollTo(id);
  };
  return (
    <section className={styles.view} aria-label="Logs">
      <Settings settings={settings} containers={containers} onChange={setSettings}>
        <Button
          className={styles.pause}
          onClick={togglePause}
          aria-pressed={snapshot.paused}
          title="Space"
        >
          {snapshot.paused ? "Resume" : "Pause"}
        </Button>
        <Button
          disabled={rows.length === 0}
          onClick={() => {
            download(rows);
          }}
        >
          Download
        </Button>
      </Settings>
      <div className={styles.bar}>
        <SearchBar
          field={searchField}
          query={query}
          count={search.found.length}
          place={search.place}
          onQuery={(text) => {
            setQuery(text);
            onFind?.(text);
          }}
          onStep={step}
        />
        {sources.length > 1 && (
          <Legend
            sources={sources}
            labels={labels}
            colors={colors}
            hidden={hidden}
            onHidden={setHidden}
          />
        )}
      </div>
      <Status snapshot={snapshot} />
      {rows.length === 0 ? (
        <NoRows snapshot={snapshot} settings={settings} />
      ) : (
        <LogRows
          ref={list}
          rows={rows}
          isFollowed={!snapshot.paused}
          onLeaveEnd={() => {
            feed.pause();
          }}
          settings={settings}
          query={query}
          present={search.present}
          colors={colors}
          labels={sources.length > 1 ? labels : undefined}
        />
      )}
      {snapshot.paused && (
        <Button look="primary" className={styles.jump} onClick={jump} title="G">
          {snapshot.waiting > 0
            ? `${snapshot.waiting.toLocaleString()} new · jump to newest`
            : "Paused · jump to newest"}
        </Button>
      )}
    </section>
  );
}

/** Returns the feed of a query, which is compared by value. */
function useFeed(query: LogQuery): LogFeed {
  const client = useClient();
  const key = JSON.stringify(query);
  return useMemo(() => new LogFeed(client, JSON.parse(key) as LogQuery), [client, key]);
}

function visibleRows(rows: readonly Row[], hidden: ReadonlySet<string>): readonly Row[] {
  return hidden.size === 0 ? rows : rows.filter(({ source }) => !hidden.has(source));
}

/** The matches of a search, and which of them is the present one. */
function useSearch(rows: readonly Row[], query: string) {
  const finder = useMemo(() => new Finder(query), [query]);
  // A finder searches only new rows, so the rows that were hidden and shown again need another one.
  const found = useMemo(() => finder.in(rows), [finder, rows]);
  const [present, setPresent] = useState<{ finder: Finder; id: number }>();
  const id = present?.finder === finder ? present.id : undefined;
  return {
    found,
    present: id,
    place: id === undefined ? 0 : found.indexOf(id) + 1,
    step: (direction: 1 | -1): number | undefined => {
      const next = nextMatch(found, id ?? (direction === 1 ? undefined : Infinity), direction);
      if (next !== undefined) setPresent({ finder, id: next });
      return next;
    },
  };
}

/** "/" searches, Space pauses, and G goes to the end, unless the user types or presses a button. */
function useShortcuts(
  field: RefObject<HTMLInputElement | null>,
  togglePause: () => void,
  jump: () => void,
): void {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const { target, key } = event;
      if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
      if (!(target instanceof HTMLElement) || target.closest(typing)) return;
      if (key === "/") field.current?.focus();
      else if (key === " " && !target.closest(pressing)) togglePause();
      else if (key === "G" || key === "End") jump();
      else return;
      event.preventDefault();
    };
    document.addEventListener("keydown", onKey);
    return () => {
      document.removeEventListener("keydown", onKey);
    };
  }, [field, togglePause, jump]);
}

const typing = "input:not([type=checkbox]), textarea, select, [contenteditable], dialog";
const pressing = "button, a, summary, input";

function Status({ snapshot }: { readonly snapshot: FeedSnapshot }) {
  const { error, connection, dropped, warnings, ended } = snapshot;
  return (
    <>
      {error && (
        <Notice tone="bad" title="The logs cannot be read">
          <span>{error.message}</span>
        </Notice>
      )}
      {!error && connection?.state === "lost" && (
        <Notice tone="warn" title="Connection lost">
          <span>
            The last message was at {connection.since.toLocaleTimeString()}. The logs continue after
            the last line as soon as the service is reachable.
          </span>
        </Notice>
      )}
      {warnings.map((warning) => (
        <Notice key={warning} tone="warn" title={warning} />
      ))}
      <p className={styles.status} aria-live="polite">
        {dropped > 0 && `The ${dropped.toLocaleString()} oldest rows are not kept. `}
        {ended && "All logs have been read to their end."}
      </p>
    </>
  );
}

function NoRows({
  snapshot,
  settings,
}: {
  readonly snapshot: FeedSnapshot;
  readonly settings: LogSettings;
}) {
  const { error, connection, ended, sources } = snapshot;
  if (error) return null;
  if (ended || connection?.state === "connected" || sources.length > 0) {
    return (
      <Empty>
        <p>{noRowsText(settings)}</p>
        {settings.since !== "" && (
          <p>Only recent lines are read: choose “all” to see older ones.</p>
        )}
      </Empty>
    );
  }
  return <Empty>Opening the logs…</Empty>;
}

function noRowsText({ previous, filter }: LogSettings): string {
  const match = filter ? " that match the filter" : "";
  if (previous) return `No container has lines${match} of a previous run.`;
  return `There are no lines${match} yet.`;
}

/** Lets the browser save the rows as a file. */
function download(rows: readonly Row[]): void {
  const url = URL.createObjectURL(new Blob([fileText(rows)], { type: "text/plain" }));
  const link = document.createElement("a");
  link.href = url;
  link.download = `logs-${new Date().toISOString().replaceAll(":", "")}.log`;
  link.click();
  URL.revokeObjectURL(url);
}
