import type { KubeconnectError } from "@kubeconnect/client";
import { lazy, useEffect, useRef } from "react";
import type { TableChange, TableSearch } from "../model/addresses.js";
import type { Column } from "../model/columns/column.js";
import { labelOf, useCatalog } from "../session/catalog.js";
import type { ExportSource } from "./export.js";
import { FilterInput } from "./filterinput.js";
import { Popover } from "./popover.js";
import styles from "./table.module.css";
import { TextInput } from "./textinput.js";

// What few people open is not in the initial bundle.
const ColumnPanel = lazy(() =>
  import("./columnpanel.js").then(({ ColumnPanel }) => ({ default: ColumnPanel })),
);
const ExportPanel = lazy(() =>
  import("./exportpanel.js").then(({ ExportPanel }) => ({ default: ExportPanel })),
);

interface ToolbarProps {
  readonly resource: string;
  readonly search: TableSearch;
  readonly onSearch: (change: TableChange) => void;
  readonly view: {
    readonly total: number;
    readonly loaded: boolean;
    readonly error: KubeconnectError | undefined;
  };
  readonly columns: { readonly all: readonly Column[]; readonly shown: readonly Column[] };
  readonly exported: ExportSource;
  /** Called when the user leaves an input by Escape. */
  readonly onLeave: () => void;
}

/** The name of the resource, the number of its objects, and what selects them. */
export function Toolbar(props: ToolbarProps) {
  const { resource, search, onSearch, view, columns, exported, onLeave } = props;
  const name = useRef<HTMLInputElement>(null);
  useSlash(name);
  return (
    <div className={styles.toolbar}>
      <h1 title={resource}>
        {labelOf(useCatalog(), resource)}{" "}
        <span className={styles.total}>{view.loaded && count(view.total)}</span>
      </h1>
      <TextInput
        ref={name}
        className={styles.search}
        label="Search by name"
        placeholder="Name…  /"
        isLive
        value={search.q ?? ""}
        onLeave={onLeave}
        onChange={(q) => {
          onSearch({ q });
        }}
      />
      <TextInput
        className={styles.search}
        label="Label selector"
        placeholder="Labels: app=web"
        isInvalid={view.error?.message.startsWith("label_selector") ?? false}
        value={search.labels ?? ""}
        onLeave={onLeave}
        onChange={(labels) => {
          onSearch({ labels });
        }}
      />
      <FilterInput
        resource={resource}
        value={search.filter ?? ""}
        error={view.error}
        onChange={(filter) => {
          onSearch({ filter });
        }}
      />
      <Popover label="Columns">
        <ColumnPanel
          {...columns}
          onChange={(ids) => {
            onSearch({ cols: ids?.join(",") });
          }}
        />
      </Popover>
      <Popover label="Export">
        <ExportPanel source={exported} columns={columns.shown} total={view.total} />
      </Popover>
    </div>
  );
}

function count(total: number): string {
  return total.toLocaleString("en");
}

/** Focuses an input when the user types a slash outside of one. */
function useSlash(input: React.RefObject<HTMLInputElement | null>): void {
  useEffect(() => {
    const focus = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement;
      const isTyping = target.closest("input, textarea, select, [contenteditable]") !== null;
      if (event.key !== "/" || event.ctrlKey || event.metaKey || isTyping) return;
      event.preventDefault();
      input.current?.focus();
      input.current?.select();
    };
    window.addEventListener("keydown", focus);
    return () => {
      window.removeEventListener("keydown", focus);
    };
  }, [input]);
}
