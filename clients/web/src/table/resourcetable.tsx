import { useLivePage } from "@kubeconnect/client/react";
import { useRouter } from "@tanstack/react-router";
import { useEffect, useMemo, useRef, useState, type MouseEvent } from "react";
import type { TableChange, TableSearch } from "../model/addresses.js";
import type { Column } from "../model/columns/column.js";
import { allColumns, requestedPaths, shownColumns } from "../model/columns/index.js";
import { facetOf } from "../model/facet.js";
import { nextSort, quickValues, selectionOf, sortOf } from "../model/tablequery.js";
import { BulkBar } from "./bulkbar.js";
import { FacetChips } from "./facetchips.js";
import { Grid } from "./grid.js";
import { Notices } from "./notices.js";
import { addressOf } from "./row.js";
import { Failure, InvalidFilter, Loading, NoRows } from "./states.js";
import styles from "./table.module.css";
import { Toolbar } from "./toolbar.js";
import { useAcceptedFilter } from "./useacceptedfilter.js";
import type { TableKind } from "./usecolumns.js";
import { useGridKeys } from "./usegridkeys.js";
import { useIsNarrow } from "./usenarrow.js";
import { firstLimit } from "./usepagescroll.js";
import { useSelection } from "./useselection.js";

interface ResourceTableProps {
  readonly kind: TableKind;
  readonly search: TableSearch;
  readonly onSearch: (change: TableChange) => void;
}

/** The live table of a resource, with its toolbar. The selection and the order are in the address. */
export function ResourceTable({ kind, search, onSearch }: ResourceTableProps) {
  const { resource } = kind;
  const router = useRouter();
  const scrollerRef = useRef<HTMLDivElement>(null);
  const facet = facetOf(resource);
  const { all, shown, columns } = useColumns(kind, search);
  const fields = useMemo(() => requestedPaths(columns), [columns]);
  const filter = useAcceptedFilter(search.filter);
  const applied = { ...search, filter: filter.applied };
  const selection = selectionOf(applied, kind.namespaced, facet);
  const options = { ...selection, orderBy: search.sort, fields };
  const retry = useRetry();
  const question = retry.isWaiting ? undefined : resource;
  const view = useLivePage(question, { ...options, limit: firstLimit, keepPrevious: true });
  filter.observe(view);
  const rows = useSelection(resource, options, view);

  const open = (index: number, isNewTab = false) => {
    const object = view.items[index - view.offset];
    if (!object) return;
    const address = addressOf(resource, object);
    if (isNewTab) window.open(address, "_blank", "noopener");
    else router.history.push(`${address}${nsOf(search)}`);
  };
  const keys = useGridKeys(scrollerRef, view, {
    onOpen: open,
    onToggle: rows.toggle,
    onExtend: rows.extend,
    onEscape: () => {
      if (rows.selection.size > 0) rows.clear();
      else scrollerRef.current?.blur();
    },
  });
  const onRowClick = (index: number, event: MouseEvent) => {
    const target = event.target as HTMLElement;
    const isLink = target.closest("a") !== null;
    if (isLink && (event.ctrlKey || event.metaKey)) return; // the browser opens another tab
    if (isLink) event.preventDefault();
    if (isLink && !event.shiftKey) open(index);
    else if (event.shiftKey) rows.extend(Math.max(0, keys.activeIndex), index);
    else if (target.closest("label")) rows.toggle(index);
    if (target.closest("label") && target.tagName !== "INPUT") event.preventDefault();
    keys.setActive(index);
  };
  useScrollToTop(scrollerRef, JSON.stringify([selection, search.sort]));

  const clear = () => {
    onSearch({
      labels: undefined,
      fields: undefined,
      filter: undefined,
      q: undefined,
      quick: undefined,
    });
  };
  const { error, loaded, total } = view;
  const isEmpty = loaded && total === 0 && !view.previous;
  const isFilterError = filter.error !== undefined && error !== undefined;
  return (
    <section className={styles.page} aria-label={resource}>
      <Toolbar
        resource={resource}
        search={search}
        onSearch={onSearch}
        view={{ ...view, error: filter.error ?? error }}
        columns={{ all, shown }}
        exported={{ resource, options, rows: [...rows.selection.values()] }}
        onLeave={() => scrollerRef.current?.focus()}
      />
      {rows.selection.size > 0 ? (
        <BulkBar
          resource={resource}
          selection={rows.selection}
          onClear={rows.clear}
          onDeleted={rows.remove}
        />
      ) : (
        facet && (
          <FacetChips
            resource={resource}
            facet={facet}
            selection={selectionOf(applied, kind.namespaced, undefined)}
            selected={quickValues(search)}
            onChange={(ids) => {
              onSearch({ quick: ids.join(",") });
            }}
          />
        )
      )}
      <Notices view={view} notice={rows.notice} />
      {error && !isFilterError && (
        <Failure resource={resource} error={error} onRetry={retry.start} />
      )}
      {isFilterError && (
        <InvalidFilter
          onClear={() => {
            onSearch({ filter: undefined });
          }}
        />
      )}
      {!error && !loaded && <Loading />}
      {!error && isEmpty && (
        <NoRows
          resource={resource}
          namespace={kind.namespaced ? search.ns : undefined}
          selectors={selectorsOf(search, facet?.title ?? "")}
          onClear={clear}
        />
      )}
      {loaded && !isEmpty && !error && (
        <Grid
          label={resource}
          resource={resource}
          columns={columns}
          view={view}
          sort={sortOf(search.sort)}
          onSort={(column) => {
            onSearch({ sort: nextSort(column, sortOf(search.sort)) });
          }}
          selection={rows.selection}
          onSelectAll={rows.toggleAll}
          scrollerRef={scrollerRef}
          keys={keys}
          onRowClick={onRowClick}
        />
      )}
    </section>
  );
}

/** Returns all columns, those that the user has chosen, and these in the order of the screen. */
function useColumns(kind: TableKind, { ns, cols }: TableSearch) {
  const isNarrow = useIsNarrow();
  return useMemo(() => {
    const all = allColumns(kind.columns, kind.namespaced && !ns);
    const shown = shownColumns(all, cols);
    return { all, shown, columns: isNarrow ? statusFirst(shown) : shown };
  }, [kind.columns, kind.namespaced, ns, cols, isNarrow]);
}

/** Puts the status beside the name, where a small screen shows it without scrolling. */
function statusFirst(columns: readonly Column[]): readonly Column[] {
  const isFirst = ({ id }: Column) => id === "name" || id === "status";
  const narrow = columns
    .filter(isFirst)
    .map((column) => ({ ...column, width: column.id === "name" ? 168 : 142 }));
  return [...narrow, ...columns.filter((column) => !isFirst(column))];
}

/** Begins at the top when the selection or the order changes. */
function useScrollToTop(scrollerRef: React.RefObject<HTMLElement | null>, question: string): void {
  const shown = useRef(question);
  useEffect(() => {
    if (shown.current !== question) scrollerRef.current?.scrollTo({ top: 0 });
    shown.current = question;
  }, [scrollerRef, question]);
}

/** Leaves the table's question for a moment, so that the service is asked again. */
function useRetry() {
  const [isWaiting, setWaiting] = useState(false);
  useEffect(() => {
    if (!isWaiting) return;
    const timer = setTimeout(setWaiting, 1000, false);
    return () => {
      clearTimeout(timer);
    };
  }, [isWaiting]);
  const start = () => {
    setWaiting(true);
  };
  return { isWaiting, start };
}

function nsOf({ ns }: TableSearch): string {
  return ns ? `?ns=${encodeURIComponent(ns)}` : "";
}

/** Returns what an address selects by, for people. */
function selectorsOf(search: TableSearch, quickTitle: string): readonly string[] {
  const { labels, fields, filter, q, quick } = search;
  const selectors = {
    Name: q,
    Labels: labels,
    Fields: fields,
    Filter: filter,
    [quickTitle]: quick,
  };
  return Object.entries(selectors).flatMap(([title, text]) => (text ? `${title}: ${text}` : []));
}
