import type { JsonValue, MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs } from "@bufbuild/protobuf/wkt";
import { aggregatesFrom, type Aggregate } from "./aggregate.js";
import {
  countFields,
  groupFrom,
  requestedAggregates,
  type Counts,
  type CountSelection,
  type ObjectGroup,
} from "./count.js";
import type {
  WatchCountsRequestSchema,
  WatchCountsResponse,
} from "./gen/kubeconnect/v1/watch_counts_pb.js";
import type { WatchManyResponse } from "./gen/kubeconnect/v1/watch_pb.js";
import { keptList, keptState, keptValue } from "./kept.js";
import { LiveStore, type LiveStoreOptions, type LiveUpdate } from "./livestore.js";
import { required } from "./message.js";
import { countsPart, type PartRequest } from "./part.js";
import type { SharedStreams } from "./sharedstreams.js";

/** Options of live counts: what to count, and how often to send changes. */
export interface WatchCountsOptions<A extends readonly Aggregate[] = readonly Aggregate[]>
  extends CountSelection<A>, LiveStoreOptions {
  /** Waits until the cache has reached this version, as in ReadOptions. */
  readonly minResourceVersion?: string | undefined;
  /**
   * The minimum time between two changes, in milliseconds, from 100 to 60,000. The first change
   * after a quiet time is sent without this delay. Default: 1,000.
   */
  readonly minIntervalMs?: number | undefined;
}

/**
 * The numbers of a selection, as `count` returns them, and every change to them. Groups that have
 * not changed are the same objects in each snapshot. The count fails with
 * Code.ResourceExhausted if there are more than 10,000 groups.
 */
export class LiveCounts<A extends readonly Aggregate[]> extends LiveStore<Counts<A>> {
  readonly #request: PartRequest;
  readonly #options: WatchCountsOptions<A>;
  #groups = new Map<string, ObjectGroup<A>>();
  /** Whether the last request has been answered with numbers. */
  #counted = false;

  /** @internal */
  constructor(streams: SharedStreams, resource: string, options: WatchCountsOptions<A>) {
    super(streams, options);
    this.#request = countsPart(watchCountsRequest(resource, options));
    this.#options = options;
  }

  protected override request(): PartRequest {
    this.#counted = false;
    return this.#request;
  }

  protected override read({ counts }: WatchManyResponse): LiveUpdate<Counts<A>> {
    const response = required(counts, "the response of counts");
    this.info.read(response);
    // A stream begins with messages without numbers while the service is not ready to count.
    this.#counted ||= response.reset;
    const { snapshot } = this;
    return {
      snapshot: this.#counted ? keptState(snapshot, this.#read(response, snapshot)) : snapshot,
      synced: this.#counted,
    };
  }

  #read(response: WatchCountsResponse, earlier: Counts<A> | undefined): Counts<A> {
    const { resource, source, namespaces, warnings } = this.info;
    const aggregates = aggregatesFrom(requestedAggregates(this.#options), response.aggregates);
    return {
      resource: keptValue(earlier?.resource, resource),
      total: Number(response.totalCount),
      groups: keptList(earlier?.groups ?? [], this.#readGroups(response)),
      aggregates: keptValue(earlier?.aggregates, aggregates),
      resourceVersion: response.resourceVersion,
      source,
      namespaces,
      warnings,
    };
  }

  /** Returns all groups, after the changes of a message. */
  #readGroups({ reset, groups }: WatchCountsResponse): readonly ObjectGroup<A>[] {
    const earlier = this.#groups;
    const next = reset ? new Map<string, ObjectGroup<A>>() : earlier;
    for (const message of groups) {
      const group = groupFrom(message, requestedAggregates(this.#options));
      const key = JSON.stringify(group.values);
      if (group.count === 0) next.delete(key);
      else next.set(key, keptValue(earlier.get(key), group));
    }
    this.#groups = next;
    return [...next.values()].sort(compareGroups);
  }
}

function watchCountsRequest(
  resource: string,
  { minResourceVersion = "", minIntervalMs, ...selection }: WatchCountsOptions,
): MessageInitShape<typeof WatchCountsRequestSchema> {
  return {
    resource,
    ...countFields(selection),
    minResourceVersion,
    ...(minIntervalMs !== undefined && { minInterval: durationFromMs(minIntervalMs) }),
  };
}

/** Compares groups: the largest first, then by values. */
function compareGroups(a: ObjectGroup, b: ObjectGroup): number {
  return b.count - a.count || compareValues(a.values, b.values);
}

/** Compares values of the same paths: null, booleans, numbers, then strings, each in order. */
function compareValues(a: readonly JsonValue[], b: readonly JsonValue[]): number {
  for (const [index, left] of a.entries()) {
    const right = b[index] ?? null;
    const order = ranks.indexOf(typeof left) - ranks.indexOf(typeof right);
    if (order !== 0) return order;
    if (left !== null && right !== null && left !== right) return left < right ? -1 : 1;
  }
  return 0;
}

/** The order of types. Null is an object in JavaScript. */
const ranks = ["object", "boolean", "number", "string"];
