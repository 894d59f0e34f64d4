import { compare, type PodRow } from "./row.js";

export type SortColumn = "namespace" | "name" | "ready" | "status" | "restarts" | "age" | "node";

/** The selection and order of the shown rows. */
export interface View {
  /** Words that must all occur in the row, ignoring case. */
  readonly filter: string;
  /** The namespace; empty for all. */
  readonly namespace: string;
  readonly sort: SortColumn;
  readonly descending: boolean;
}

/** Returns the rows of a view, in order. */
export function arrange(rows: Iterable<PodRow>, view: View): PodRow[] {
  const words = view.filter.toLowerCase().split(/\s+/);
  const shown: PodRow[] = [];
  for (const row of rows) {
    if (view.namespace && row.namespace !== view.namespace) continue;
    if (words.every((word) => row.text.includes(word))) shown.push(row);
  }
  const order = orders[view.sort];
  const sign = view.descending ? -1 : 1;
  return shown.sort((a, b) => sign * order(a, b) || byName(a, b));
}

/** Returns the namespaces of the rows, in order, each with its number of rows. */
export function namespaces(rows: Iterable<PodRow>): [name: string, count: number][] {
  const counts = new Map<string, number>();
  for (const { namespace } of rows) {
    counts.set(namespace, (counts.get(namespace) ?? 0) + 1);
  }
  return [...counts].sort(([a], [b]) => compare(a, b));
}

type Order = (a: PodRow, b: PodRow) => number;

const byName: Order = (a, b) => compare(a.namespace, b.namespace) || compare(a.name, b.name);

/** The orders by column. Ascending age is youngest first; a pod without a time counts as new. */
const orders: Record<SortColumn, Order> = {
  namespace: (a, b) => compare(a.namespace, b.namespace),
  name: (a, b) => compare(a.name, b.name),
  ready: (a, b) => missing(b) - missing(a) || a.containers - b.containers,
  status: (a, b) => compare(a.status, b.status),
  restarts: (a, b) => a.restarts - b.restarts,
  age: (a, b) => (b.createdAt ?? Infinity) - (a.createdAt ?? Infinity) || 0,
  node: (a, b) => compare(a.node, b.node),
};

function missing({ ready, containers }: PodRow): number {
  return containers - ready;
}
