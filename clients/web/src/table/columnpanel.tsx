import { useState } from "react";
import { ownColumn } from "../model/columns/index.js";
import type { Column } from "../model/columns/column.js";
import { Button } from "../ui/button.js";
import ui from "../ui/ui.module.css";
import styles from "./table.module.css";

interface ColumnPanelProps {
  readonly all: readonly Column[];
  readonly shown: readonly Column[];
  /** Called with the names of the columns to show; undefined for the default ones. */
  readonly onChange: (ids: readonly string[] | undefined) => void;
}

/** The panel that shows, hides and moves columns, and adds columns for paths of the user. */
export function ColumnPanel({ all, shown, onChange }: ColumnPanelProps) {
  const ids = shown.map(({ id }) => id);
  const hidden = all.filter(({ id }) => !ids.includes(id));
  const move = (from: number, by: number) => {
    const next = [...ids];
    next.splice(from + by, 0, ...next.splice(from, 1));
    onChange(next);
  };
  return (
    <>
      <ul className={styles.columnList}>
        {shown.map((column, index) => (
          <li key={column.id}>
            <label>
              <input
                type="checkbox"
                checked
                disabled={column.id === "name"}
                onChange={() => {
                  onChange(ids.filter((id) => id !== column.id));
                }}
              />
              {column.title}
            </label>
            <MoveButtons column={column} index={index} count={shown.length} onMove={move} />
          </li>
        ))}
        {hidden.map((column) => (
          <li key={column.id}>
            <label>
              <input
                type="checkbox"
                checked={false}
                onChange={() => {
                  onChange([...ids, column.id]);
                }}
              />
              {column.title}
            </label>
          </li>
        ))}
      </ul>
      <AddColumn
        onAdd={(path) => {
          onChange([...ids, path]);
        }}
      />
      <Button
        look="quiet"
        onClick={() => {
          onChange(undefined);
        }}
      >
        Default columns
      </Button>
    </>
  );
}

interface MoveButtonsProps {
  readonly column: Column;
  readonly index: number;
  readonly count: number;
  readonly onMove: (from: number, by: number) => void;
}

/** The name is always the first column. */
function MoveButtons({ column, index, count, onMove }: MoveButtonsProps) {
  if (index === 0) return null;
  return (
    <span>
      <Button
        look="quiet"
        aria-label={`Move ${column.title} to the left`}
        disabled={index === 1}
        onClick={() => {
          onMove(index, -1);
        }}
      >
        ↑
      </Button>
      <Button
        look="quiet"
        aria-label={`Move ${column.title} to the right`}
        disabled={index === count - 1}
        onClick={() => {
          onMove(index, 1);
        }}
      >
        ↓
      </Button>
    </span>
  );
}

function AddColumn({ onAdd }: { readonly onAdd: (path: string) => void }) {
  const [path, setPath] = useState("");
  const isValid = ownColumn(path) !== undefined && !path.includes(",");
  return (
    <form
      className={styles.addColumn}
      onSubmit={(event) => {
        event.preventDefault();
        if (!isValid) return;
        onAdd(path.trim());
        setPath("");
      }}
    >
      <input
        className={ui.field}
        aria-label="Path of a new column"
        aria-invalid={path !== "" && !isValid}
        placeholder="spec.nodeName"
        spellCheck={false}
        value={path}
        onChange={(event) => {
          setPath(event.target.value);
        }}
      />
      <Button type="submit" disabled={!isValid}>
        Add
      </Button>
    </form>
  );
}
