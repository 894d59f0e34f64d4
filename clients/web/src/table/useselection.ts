import { KubeconnectError, type KubeObject, type ListOptions } from "@kubeconnect/client";
import { useClient } from "@kubeconnect/client/react";
import { useState } from "react";
import {
  extended,
  nothingSelected,
  rangeBetween,
  reduced,
  toggled,
  type RowName,
  type RowSelection,
} from "../model/rowselection.js";

/** The greatest number of rows that are selected at once without having been loaded. */
export const selectionLimit = 5_000;

interface LoadedRows {
  readonly items: readonly KubeObject[];
  readonly offset: number;
  readonly total: number;
}

/** The selected rows, and the ways to change them. */
export interface SelectionState {
  readonly selection: RowSelection;
  /** What the user should know about the last change. */
  readonly notice: string;
  readonly toggle: (index: number) => void;
  readonly extend: (from: number, to: number) => void;
  /** Selects all rows, or none if there are selected ones. */
  readonly toggleAll: () => void;
  readonly clear: () => void;
  readonly remove: (rows: readonly RowName[]) => void;
}

/** Keeps the selected rows of a table by their keys. Rows of a range that are not loaded are listed. */
export function useSelection(
  resource: string,
  options: ListOptions,
  { items, offset, total }: LoadedRows,
): SelectionState {
  const client = useClient();
  const [selection, setSelection] = useState(nothingSelected);
  const [notice, setNotice] = useState("");

  const addListed = async (first: number, last: number) => {
    const rows: RowName[] = [];
    const names = { ...options, fields: ["metadata.name"], pageSize: 1_000 };
    let index = 0;
    for await (const object of client.list(resource, names)) {
      if (index > last || rows.length === selectionLimit) break;
      if (index++ >= first) rows.push(object);
    }
    setSelection((now) => extended(now, rows));
    const isCut = last - first + 1 > selectionLimit;
    setNotice(isCut ? `Only the first ${selectionLimit} are selected.` : "");
  };
  const add = (first: number, last: number) => {
    const rows = items.slice(Math.max(0, first - offset), last - offset + 1);
    if (first >= offset && rows.length > last - first) {
      setSelection((now) => extended(now, rows));
      return;
    }
    addListed(first, last).catch((error: unknown) => {
      setNotice(`Not selected: ${KubeconnectError.from(error).message}`);
    });
  };
  const clear = () => {
    setSelection(nothingSelected);
    setNotice("");
  };
  return {
    selection,
    notice,
    clear,
    toggle: (index) => {
      const row = items[index - offset];
      if (row) setSelection((now) => toggled(now, row));
    },
    extend: (from, to) => {
      const { first, last } = rangeBetween(from, to);
      add(first, last);
    },
    toggleAll: () => {
      if (selection.size > 0) clear();
      else if (total > 0) add(0, total - 1);
    },
    remove: (rows) => {
      setSelection((now) =>
        reduced(
          now,
          rows.map(({ key }) => key),
        ),
      );
    },
  };
}
