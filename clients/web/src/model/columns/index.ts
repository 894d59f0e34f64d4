import { parsePath } from "../path.js";
import { clusterColumns } from "./cluster.js";
import type { Column, KindColumns } from "./column.js";
import { ageColumn, labelsColumn, nameColumn, namespaceColumn, pathColumn } from "./common.js";
import { configColumns } from "./config.js";
import { networkColumns } from "./network.js";
import { podColumns } from "./pods.js";
import { workloadColumns } from "./workloads.js";

const kinds: Record<string, KindColumns> = {
  ...podColumns,
  ...workloadColumns,
  ...networkColumns,
  ...configColumns,
  ...clusterColumns,
};

/** Returns the columns of a common kind; undefined for other resources. */
export function kindColumns(resource: string): KindColumns | undefined {
  return Object.hasOwn(kinds, resource) ? kinds[resource] : undefined;
}

/** The columns of a resource of which nothing is known. */
export const plainColumns: readonly Column[] = [ageColumn()];

/** Returns all columns that a table can show, in their order, without the user's own. */
export function allColumns(columns: readonly Column[], hasNamespaces: boolean): readonly Column[] {
  return [nameColumn, ...(hasNamespaces ? [namespaceColumn] : []), ...columns, labelsColumn];
}

/**
 * Returns the columns to show. `cols` of an address has the names of columns and the paths of the
 * user's own, separated by commas; without it, the columns that are not optional are shown. The name
 * is always the first one. Paths that are not valid are left out.
 */
export function shownColumns(all: readonly Column[], cols: string | undefined): readonly Column[] {
  if (!cols) return all.filter(({ optional }) => !optional);
  const ids = new Set(["name", ...cols.split(",")]);
  return [...ids].flatMap((id) => all.find((column) => column.id === id) ?? ownColumn(id) ?? []);
}

/** Returns the user's own column for a path; undefined if it is not a path. */
export function ownColumn(path: string): Column | undefined {
  return parsePath(path) ? pathColumn(path) : undefined;
}

/** Returns the paths to request for columns. */
export function requestedPaths(columns: readonly Column[]): readonly string[] {
  const paths = columns.flatMap((column) => column.paths);
  return [
    ...new Set(["metadata.creationTimestamp", "metadata.deletionTimestamp", ...paths]),
  ].sort();
}
