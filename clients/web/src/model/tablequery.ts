import type { Selection } from "@kubeconnect/client";
import { allOf, nameFilter } from "./cel.js";
import type { Column } from "./columns/column.js";
import { facetFilter, type Facet } from "./facet.js";

/** The parameters of the address of a table that select objects. */
export interface TableQuery {
  readonly ns?: string | undefined;
  readonly labels?: string | undefined;
  readonly fields?: string | undefined;
  readonly filter?: string | undefined;
  readonly q?: string | undefined;
  readonly quick?: string | undefined;
}

/** Returns the selected values of the quick filter. */
export function quickValues({ quick }: TableQuery): readonly string[] {
  return quick ? quick.split(",") : [];
}

/** Returns the selection of a table; without the quick filter if `facet` is undefined. */
export function selectionOf(
  query: TableQuery,
  isNamespaced: boolean,
  facet: Facet | undefined,
): Selection {
  const { ns, labels, fields, filter, q } = query;
  const quick = facet && facetFilter(facet, quickValues(query));
  return {
    ...(ns && isNamespaced && { namespace: ns }),
    ...(labels && { labelSelector: labels }),
    ...(fields && { fieldSelector: fields }),
    filter: allOf([q ? nameFilter(q) : undefined, filter, quick]),
  };
}

/** The order of a table. */
export interface Sort {
  readonly path: string;
  readonly isDescending: boolean;
}

/** Reads the order of an address: "path", or "path desc". */
export function sortOf(text: string | undefined): Sort | undefined {
  const [path, direction] = text?.trim().split(/\s+/) ?? [];
  return path ? { path, isDescending: direction === "desc" } : undefined;
}

/** Returns the order of a column as aria-sort names it; undefined if the table has another order. */
export function orderOf(
  column: Column,
  sort: Sort | undefined,
): "ascending" | "descending" | undefined {
  if (!sort || column.sortPath !== sort.path) return undefined;
  return sort.isDescending === (column.reversed ?? false) ? "ascending" : "descending";
}

/** Returns the order after a click on a column: ascending, descending, then the default order. */
export function nextSort(column: Column, sort: Sort | undefined): string | undefined {
  const { sortPath, reversed = false } = column;
  const order = orderOf(column, sort);
  if (!sortPath || order === "descending") return undefined;
  const isDescending = (order === "ascending") !== reversed;
  return isDescending ? `${sortPath} desc` : sortPath;
}
