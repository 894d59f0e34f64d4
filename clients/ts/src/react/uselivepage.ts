import { useEffect, useRef, useState } from "react";
import type { LivePage, LivePageOptions, PageRange, PageSnapshot } from "../livepage.js";
import type { KubeObject, KubeValue } from "../object.js";
import type { ObjectOf, ResourceName } from "../resources.js";
import { stableKey } from "./key.js";
import { useOverlaid } from "./useoverlaid.js";
import { useShared, type HookOptionsOf } from "./useshared.js";
import type { LiveView } from "./view.js";

/** Options of useLivePage. */
export type UseLivePageOptions = HookOptionsOf<LivePageOptions>;

/** What useLivePage returns. */
export interface LivePageView<T = KubeValue> extends Omit<LiveView<PageSnapshot<T>>, "snapshot"> {
  /**
   * The page, for `scrollTo`; undefined without a resource. Components with the same options share
   * it, and scroll together. It stays where it is while it lingers.
   */
  readonly page: LivePage<T> | undefined;
  /** The objects of the page, in order; none before the first snapshot. */
  readonly items: readonly KubeObject<T>[];
  /** The number of objects in the selection; 0 before the first snapshot. */
  readonly total: number;
  /** The number of objects before the page; 0 before the first snapshot. */
  readonly offset: number;
  /** The namespaces that the page covers, as in ListPage. Empty if it covers all. */
  readonly namespaces: readonly string[];
  /** Human-readable warnings, as in ListPage. */
  readonly warnings: readonly string[];
  /** Whether the items are those of the earlier options: see `keepPrevious`. */
  readonly previous: boolean;
}

/**
 * Follows a page of the sorted selection. A change of `limit`, `offset` or `after` scrolls the page,
 * as `page.scrollTo` does: the items remain until the others have arrived. A change of another option
 * is another page. Without a resource nothing is read.
 */
export function useLivePage<R extends ResourceName>(
  resource: R | null | undefined,
  options?: UseLivePageOptions,
): LivePageView<ObjectOf<R>>;
/** The same, with objects of the type argument. */
export function useLivePage<T = KubeValue>(
  resource: string | null | undefined,
  options?: UseLivePageOptions,
): LivePageView<T>;
export function useLivePage<T>(
  resource: string | null | undefined,
  options: UseLivePageOptions = {},
): LivePageView<T> {
  const { suspense, keepPrevious, limit, offset, after, ...selection } = options;
  const range = rangeOf({ limit, offset, after });
  const first = useFirst(range, stableKey({ resource, selection }));
  const pageOptions = { ...selection, ...first };
  const question = resource ? { kind: "page", resource, options: pageOptions } : undefined;
  const shared = useShared(
    question,
    (client): LivePage<T> => client.livePage<T>(question?.resource ?? "", pageOptions),
    { suspense, keepPrevious },
  );
  useScroll(shared.store, range, first);
  const { snapshot, store: page, ...status } = shared;
  const { items = none, total = 0, namespaces = none, warnings = none } = snapshot ?? {};
  const place = { items: useOverlaid<T>(items), total, offset: snapshot?.offset ?? 0 };
  return { page, ...status, ...place, namespaces, warnings };
}

const none: readonly never[] = [];

/** Returns a range of plain values: `after` may be an object of the page. */
function rangeOf({ limit, offset, after }: PageRange): PageRange {
  return { limit, offset, after: after && { namespace: after.namespace, name: after.name } };
}

/** Returns the first range of each selection. */
function useFirst(range: PageRange, selection: string): PageRange {
  const [first, setFirst] = useState({ range, selection });
  if (first.selection === selection) return first.range;
  setFirst({ range, selection });
  return range;
}

/** Scrolls the page when the range of the options changes. */
function useScroll(
  page: { scrollTo(range: PageRange): void } | undefined,
  range: PageRange,
  first: PageRange,
): void {
  const key = stableKey(range);
  const shown = useRef({ page, key });
  useEffect(() => {
    const isSame = shown.current.page === page;
    const shownKey = isSame ? shown.current.key : stableKey(first);
    if (shownKey !== key) page?.scrollTo(range);
    shown.current = { page, key };
  }, [page, key]);
}
