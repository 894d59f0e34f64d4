import type { Aggregate } from "../aggregate.js";
import type { Counts, NoAggregates, ObjectGroup } from "../count.js";
import type { LiveCounts, WatchCountsOptions } from "../livecounts.js";
import { useShared, type HookOptionsOf } from "./useshared.js";
import type { LiveView } from "./view.js";

/** Options of useCount. */
export type UseCountOptions<A extends readonly Aggregate[] = NoAggregates> = HookOptionsOf<
  WatchCountsOptions<A>
>;

/** What useCount returns. */
export interface LiveCount<A extends readonly Aggregate[] = NoAggregates> extends Omit<
  LiveView<Counts<A>>,
  "snapshot" | "scrolling"
> {
  /** All numbers; undefined before the first snapshot. */
  readonly counts: Counts<A> | undefined;
  /** The number of objects; undefined before the first snapshot. */
  readonly total: number | undefined;
  /** The groups, as in Counts; none before the first snapshot. */
  readonly groups: readonly ObjectGroup<A>[];
  /** Whether the numbers are those of the earlier options: see `keepPrevious`. */
  readonly previous: boolean;
}

/** Counts the objects of a selection, live. Without a resource nothing is counted. */
export function useCount<const A extends readonly Aggregate[] = NoAggregates>(
  resource: string | null | undefined,
  options: UseCountOptions<A> = {},
): LiveCount<A> {
  const { suspense, keepPrevious, ...selection } = options;
  const question = resource ? { kind: "counts", resource, options: selection } : undefined;
  const { snapshot, loaded, error, connection, freshness, previous } = useShared(
    question,
    (client): LiveCounts<A> =>
      client.watchCounts<A>(question?.resource ?? "", selection as WatchCountsOptions<A>),
    { suspense, keepPrevious },
  );
  const { total, groups = none } = snapshot ?? {};
  return { counts: snapshot, total, groups, loaded, error, connection, freshness, previous };
}

const none: readonly never[] = [];
