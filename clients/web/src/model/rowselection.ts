import type { ObjectName } from "@kubeconnect/client";

/** A row that can be selected. */
export interface RowName {
  readonly key: string;
  readonly namespace: string;
  readonly name: string;
}

/** The selected rows by their keys, which remain selected when they are scrolled out of sight. */
export type RowSelection = ReadonlyMap<string, RowName>;

export const nothingSelected: RowSelection = new Map();

/** Selects a row, or removes it from the selection. */
export function toggled(selection: RowSelection, { key, namespace, name }: RowName): RowSelection {
  const next = new Map(selection);
  if (!next.delete(key)) next.set(key, { key, namespace, name });
  return next;
}

/** Adds rows to the selection. */
export function extended(selection: RowSelection, rows: Iterable<RowName>): RowSelection {
  const next = new Map(selection);
  for (const { key, namespace, name } of rows) next.set(key, { key, namespace, name });
  return next;
}

/** Removes rows from the selection. */
export function reduced(selection: RowSelection, keys: Iterable<string>): RowSelection {
  const next = new Map(selection);
  for (const key of keys) next.delete(key);
  return next;
}

/** Returns the first and the last index between two rows, in any order. */
export function rangeBetween(a: number, b: number): { first: number; last: number } {
  return { first: Math.min(a, b), last: Math.max(a, b) };
}

/** Returns the namespaces of the selected rows, in order. */
export function namespacesOf(selection: RowSelection): readonly string[] {
  return [...new Set([...selection.values()].map(({ namespace }) => namespace))].sort();
}

/** Returns the name of a row as calls need it. */
export function objectNameOf({ namespace, name }: RowName): ObjectName {
  return namespace ? { namespace, name } : { name };
}
