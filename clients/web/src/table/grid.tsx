import type { KubeObject, LivePage } from "@kubeconnect/client";
import { memo, useId, useLayoutEffect, useMemo, type MouseEvent, type RefObject } from "react";
import { ChangeTracker } from "../model/changes.js";
import type { Column } from "../model/columns/column.js";
import type { RowSelection } from "../model/rowselection.js";
import { orderOf, type Sort } from "../model/tablequery.js";
import { Placeholder, Row, rowHeight } from "./row.js";
import styles from "./table.module.css";
import type { GridKeys } from "./usegridkeys.js";
import { usePageScroll } from "./usepagescroll.js";

interface GridProps {
  readonly label: string;
  readonly resource: string;
  readonly columns: readonly Column[];
  readonly view: {
    readonly page: LivePage | undefined;
    readonly items: readonly KubeObject[];
    readonly offset: number;
    readonly total: number;
    readonly previous: boolean;
  };
  readonly sort: Sort | undefined;
  readonly onSort: (column: Column) => void;
  readonly selection: RowSelection;
  readonly onSelectAll: () => void;
  readonly scrollerRef: RefObject<HTMLDivElement | null>;
  readonly keys: GridKeys;
  readonly onRowClick: (index: number, event: MouseEvent) => void;
}

/** The rows of a live page, in a scroller as high as all rows of the selection. */
export function Grid(props: GridProps) {
  const { label, resource, columns, view, selection, scrollerRef, keys, onRowClick } = props;
  const { items, offset, total, previous } = view;
  const id = useId();
  const { first, end } = usePageScroll(scrollerRef, view, keys.onShift);
  const tracker = useMemo(() => new ChangeTracker(columns), [columns]);
  const marks = previous ? undefined : tracker.marksOf(view);
  useTemplate(scrollerRef, columns);
  const rows = Array.from({ length: Math.max(0, end - first) }, (_, at) => first + at);
  const active = keys.activeIndex;
  return (
    <div
      ref={scrollerRef}
      role="grid"
      aria-label={label}
      aria-rowcount={total + 1}
      aria-colcount={columns.length + 1}
      aria-multiselectable
      aria-activedescendant={active >= first && active < end ? `${id}${active}` : undefined}
      className={styles.grid}
      data-previous={previous || undefined}
      tabIndex={0}
      onKeyDown={keys.onKeyDown}
    >
      <Header
        columns={columns}
        sort={props.sort}
        onSort={props.onSort}
        onSelectAll={props.onSelectAll}
        isAll={total > 0 && selection.size >= total}
        isSome={selection.size > 0}
      />
      <div
        role="rowgroup"
        className={styles.body}
        style={{ height: total * rowHeight }}
        onClick={(event) => {
          const row = (event.target as HTMLElement).closest<HTMLElement>("[data-index]");
          if (row) onRowClick(Number(row.dataset.index), event);
        }}
      >
        {rows.map((index) => {
          const object = items[index - offset];
          if (!object) return <Placeholder key={`#${index}`} index={index} />;
          return (
            <Row
              key={object.key}
              id={`${id}${index}`}
              resource={resource}
              object={object}
              index={index}
              columns={columns}
              isSelected={selection.has(object.key)}
              isActive={index === active}
              mark={marks?.get(object.key)}
            />
          );
        })}
      </div>
    </div>
  );
}

/** Sets the widths of the columns on the scroller, from which all rows inherit them. */
function useTemplate(scrollerRef: RefObject<HTMLElement | null>, columns: readonly Column[]): void {
  const template = columns.map(({ width }) => `minmax(${width}px, ${width}fr)`).join(" ");
  const width = columns.reduce((sum, column) => sum + column.width, checkWidth);
  useLayoutEffect(() => {
    scrollerRef.current?.style.setProperty("--columns", `${checkWidth}px ${template}`);
    scrollerRef.current?.style.setProperty("--table-width", `${width}px`);
  }, [scrollerRef, template, width]);
}

const checkWidth = 34;

interface HeaderProps extends Pick<GridProps, "columns" | "sort" | "onSort" | "onSelectAll"> {
  readonly isAll: boolean;
  readonly isSome: boolean;
}

/** The header, which is not rendered again while the table scrolls. */
const Header = memo(function Header(props: HeaderProps) {
  const { columns, sort, onSort, onSelectAll, isAll, isSome } = props;
  return (
    <div role="rowgroup" className={styles.header}>
      <div role="row" aria-rowindex={1} className={styles.headerRow}>
        <div role="columnheader" className={styles.check}>
          <label>
            <input
              type="checkbox"
              aria-label="Select all"
              checked={isAll}
              ref={(input) => {
                if (input) input.indeterminate = isSome && !isAll;
              }}
              onChange={onSelectAll}
            />
          </label>
        </div>
        {columns.map((column) => (
          <HeaderCell key={column.id} column={column} sort={sort} onSort={onSort} />
        ))}
      </div>
    </div>
  );
});

interface HeaderCellProps {
  readonly column: Column;
  readonly sort: Sort | undefined;
  readonly onSort: (column: Column) => void;
}

function HeaderCell({ column, sort, onSort }: HeaderCellProps) {
  const order = orderOf(column, sort);
  return (
    <div
      role="columnheader"
      className={styles.headerCell}
      data-column={column.id}
      data-numeric={column.numeric}
      aria-sort={order ?? (column.sortPath ? "none" : undefined)}
    >
      {column.sortPath ? (
        <button
          type="button"
          onClick={() => {
            onSort(column);
          }}
        >
          {column.title}
          {order && <span aria-hidden>{order === "ascending" ? "▲" : "▼"}</span>}
        </button>
      ) : (
        <span>{column.title}</span>
      )}
    </div>
  );
}
