import type { KubeObject } from "@kubeconnect/client";
import { memo } from "react";
import type { Mark } from "../model/changes.js";
import { cellOf } from "../model/columns/cell.js";
import type { Cell, Column } from "../model/columns/column.js";
import { objectParams } from "../model/resource.js";
import { Age } from "../ui/age.js";
import { Chip } from "../ui/chip.js";
import styles from "./table.module.css";

/** The height of a row in pixels, as --row of the style sheet. */
export const rowHeight = 30;

interface RowProps {
  readonly id: string;
  readonly resource: string;
  readonly object: KubeObject;
  readonly index: number;
  readonly columns: readonly Column[];
  readonly isSelected: boolean;
  readonly isActive: boolean;
  readonly mark: Mark | undefined;
}

/** One row of a table. It is rendered again only if its object, its place or its state changes. */
export const Row = memo(function Row(props: RowProps) {
  const { id, resource, object, index, columns, isSelected, isActive, mark } = props;
  return (
    <div
      id={id}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isSelected}
      className={styles.row}
      data-index={index}
      data-active={isActive || undefined}
      data-deleting={isDeleting(object) || undefined}
      style={{ transform: placeOf(index) }}
    >
      <div role="gridcell" className={styles.check}>
        <label>
          <input
            type="checkbox"
            tabIndex={-1}
            checked={isSelected}
            readOnly
            aria-label={`Select ${object.name}`}
          />
        </label>
      </div>
      {columns.map((column) => {
        const isMarked = mark !== undefined && (mark.columns?.has(column.id) ?? true);
        return (
          <div
            // Another key starts the animation again.
            key={isMarked ? `${column.id} ${mark.sequence}` : column.id}
            role="gridcell"
            className={styles.cell}
            data-column={column.id}
            data-numeric={column.numeric}
            data-marked={isMarked || undefined}
          >
            {column.id === "name" ? (
              <a href={addressOf(resource, object)} tabIndex={-1} title={object.name}>
                {object.name}
              </a>
            ) : (
              <CellContent cell={cellOf(column, object)} />
            )}
          </div>
        );
      })}
    </div>
  );
});

/** A row whose object has not arrived yet. */
export const Placeholder = memo(function Placeholder({ index }: { readonly index: number }) {
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      className={styles.placeholder}
      style={{ transform: placeOf(index) }}
    >
      <span role="gridcell" className={styles.bar}>
        <span className="visually-hidden">Loading</span>
      </span>
    </div>
  );
});

function CellContent({ cell: { text, tone, since } }: { readonly cell: Cell }) {
  if (since) return <Age since={since} />;
  const shown = text.length > longestText ? `${text.slice(0, longestText)}…` : text;
  if (tone && text) {
    return (
      <Chip tone={tone} title={shown}>
        {shown}
      </Chip>
    );
  }
  return <span title={shown}>{shown}</span>;
}

/** The number of characters of a cell at most: a value can have a megabyte, and a page many of them. */
const longestText = 1_000;

function placeOf(index: number): string {
  return `translateY(${index * rowHeight}px)`;
}

/** Returns the address of an object. A link component for each row would make scrolling slow. */
export function addressOf(resource: string, object: { namespace: string; name: string }): string {
  const { namespace, name } = objectParams(resource, object);
  return `/o/${[resource, namespace, name].map(encodeURIComponent).join("/")}`;
}

function isDeleting(object: KubeObject): boolean {
  try {
    return object.value.metadata.deletionTimestamp !== undefined;
  } catch {
    return false; // the service could not read the object
  }
}
