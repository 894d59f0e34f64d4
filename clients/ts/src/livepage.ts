import { KubeconnectError } from "./error.js";
import {
  EventType,
  type PageState,
  type WatchManyResponse,
} from "./gen/kubeconnect/v1/watch_pb.js";
import { joinFields, type JoinOptions } from "./join.js";
import { keptState } from "./kept.js";
import { LiveStore, type LiveStoreOptions, type LiveUpdate } from "./livestore.js";
import { required } from "./message.js";
import type { KubeObject, KubeValue, ObjectName } from "./object.js";
import { PageObjects } from "./pageobjects.js";
import { watchPart, type PartRequest } from "./part.js";
import type { FieldOptions, Source } from "./read.js";
import type { Selection } from "./selection.js";
import type { SharedStreams } from "./sharedstreams.js";
import { watchFields } from "./watch.js";

/** The place of a page in the sorted selection. */
export interface PageRange {
  /** The maximum number of objects, at most 500. Default: 50. */
  readonly limit?: number | undefined;
  /** The number of objects before the page. Default: 0. Not together with `after`. */
  readonly offset?: number | undefined;
  /**
   * The object before the page. The page begins after its place, also if that changes. If the
   * object is deleted, the page begins after its last place. The stream is rejected with
   * Code.NotFound if the object does not exist when the store is first followed.
   */
  readonly after?: ObjectName | undefined;
}

/** Options of a live page: the selection, the order of its objects, and what to send of them. */
export interface LivePageOptions
  extends Selection, FieldOptions, JoinOptions, PageRange, LiveStoreOptions {
  /** The order of the objects, as in ListOptions. Default: by namespace and name. */
  readonly orderBy?: string | undefined;
  /** Waits until the cache has reached this version, as in ReadOptions. */
  readonly minResourceVersion?: string | undefined;
}

/** The state of a live page at one version. */
export interface PageSnapshot<T = KubeValue> {
  /** The objects of the page, in order. An object that has not changed is the same object. */
  readonly items: readonly KubeObject<T>[];
  /** The number of objects in the selection. */
  readonly total: number;
  /** The number of objects before the page. */
  readonly offset: number;
  /** The resource version of the page. */
  readonly resourceVersion: string;
  readonly source: Source | undefined;
  /** The namespaces that the page covers, as in ListPage. Empty if it covers all. */
  readonly namespaces: readonly string[];
  /** Human-readable warnings, as in ListPage. */
  readonly warnings: readonly string[];
}

/**
 * A page of the sorted selection that remains true: objects enter, leave and move as they are
 * created, changed and deleted. Only the objects of the page are sent, and a page changes at most
 * ten times a second. A lost stream resumes with the differences to the page.
 */
export class LivePage<T = KubeValue> extends LiveStore<PageSnapshot<T>, PageUpdate<T>> {
  readonly #resource: string;
  readonly #options: LivePageOptions;
  readonly #objects = new PageObjects<T>();
  /** The range to show, the one that was requested, and the one of the snapshot. */
  #range: PageRange;
  #requestedRange: PageRange;
  #shownRange: PageRange;

  /** @internal */
  constructor(streams: SharedStreams, resource: string, options: LivePageOptions) {
    super(streams, options);
    this.#resource = resource;
    this.#options = options;
    this.#range = this.#requestedRange = this.#shownRange = rangeOf(options);
  }

  /** The objects of the snapshot; none before the first one. */
  get items(): readonly KubeObject<T>[] {
    return this.snapshot?.items ?? noItems;
  }

  /** The number of objects in the selection; 0 before the first snapshot. */
  get total(): number {
    return this.snapshot?.total ?? 0;
  }

  /** The number of objects before the page; 0 before the first snapshot. */
  get offset(): number {
    return this.snapshot?.offset ?? 0;
  }

  /** Whether the snapshot does not show the range of the last `scrollTo` yet. */
  get scrolling(): boolean {
    return this.#range !== this.#shownRange;
  }

  /**
   * Moves the page to another range: to an offset, or after an object. The limit remains, unless
   * there is a new one. Only the objects that are not in the present page are sent. The page shows
   * the present range until then. Of several calls in a short time only the last one has an effect.
   */
  scrollTo(range: number | PageRange): void {
    const { limit } = this.#range;
    this.#range = rangeOf({ limit, ...(typeof range === "number" ? { offset: range } : range) });
    this.update();
    this.resume();
    this.notify();
  }

  protected override pageLimit(): number {
    return this.#range.limit ?? defaultLimit;
  }

  protected override request(resumeToken: string): PartRequest {
    this.#requestedRange = this.#range;
    this.#objects.revert();
    const { offset = 0, after } = this.#range;
    const { orderBy = "" } = this.#options;
    const isReached = resumeToken !== "";
    return watchPart({
      ...watchFields(this.#resource, this.#options, { isReached, patches: false }),
      ...joinFields(this.#options),
      limit: this.pageLimit(),
      orderBy,
      offset: BigInt(offset),
      ...(after && { after: { namespace: after.namespace ?? "", name: after.name } }),
      ownResumeToken: resumeToken,
    });
  }

  /** Reads a message. The page and its token remain until the next page is complete. */
  protected override read(message: WatchManyResponse): PageUpdate<T> {
    const response = required(message.response, "the response of a watch");
    this.info.read(response);
    for (const event of response.events) this.#objects.apply(event, this.info.resource);
    const { page, resumeToken } = response;
    if (page !== undefined) {
      const range = this.#requestedRange;
      return { snapshot: this.#complete(page), resumeToken, range, changed: true };
    }
    if (response.events.some(({ type }) => type === EventType.SYNCED)) {
      throw KubeconnectError.internal("the service does not support live pages: update it");
    }
    const { snapshot } = this;
    if (resumeToken === "" || this.#objects.incomplete) {
      return { snapshot, resumeToken: this.resumeToken };
    }
    const current = snapshot && keptState(snapshot, { ...snapshot, ...this.#status() });
    return { snapshot: current, resumeToken };
  }

  protected override apply(update: PageUpdate<T>): void {
    this.#shownRange = update.range ?? this.#shownRange;
    super.apply(update);
  }

  #complete({ totalCount, offset, resourceVersion }: PageState): PageSnapshot<T> {
    return keptState(this.snapshot, {
      items: this.#objects.commit(),
      total: Number(totalCount),
      offset: Number(offset),
      resourceVersion,
      ...this.#status(),
    });
  }

  #status(): Pick<PageSnapshot, "source" | "namespaces" | "warnings"> {
    const { source, namespaces, warnings } = this.info;
    return { source, namespaces, warnings };
  }
}

/** The state after a message, with the token of the snapshot. */
interface PageUpdate<T> extends LiveUpdate<PageSnapshot<T>> {
  readonly resumeToken: string;
  /** The range of the snapshot; undefined if it is that of the earlier one. */
  readonly range?: PageRange;
}

const noItems: readonly never[] = [];

const defaultLimit = 50;

/** Returns a range of its own, so that ranges can be compared by identity. */
function rangeOf({ limit, offset, after }: PageRange): PageRange {
  if (offset !== undefined && after !== undefined) {
    throw new TypeError("offset and after are mutually exclusive: pass one of them");
  }
  return { limit, offset, after };
}
