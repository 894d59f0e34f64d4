import type { JsonValue, MessageInitShape } from "@bufbuild/protobuf";
import {
  aggregateFields,
  aggregatesFrom,
  type Aggregate,
  type AggregateResults,
} from "./aggregate.js";
import type { ReadOptions } from "./call.js";
import { freshnessFrom, type Freshness } from "./freshness.js";
import type {
  CountRequestSchema,
  CountResponse,
  ObjectGroup as GroupMessage,
} from "./gen/kubeconnect/v1/read_pb.js";
import { required } from "./message.js";
import type { Resource } from "./object.js";
import {
  consistencyField,
  paths,
  sourceFrom,
  type ConsistencyOptions,
  type Source,
} from "./read.js";
import { selectionFields, type Selection } from "./selection.js";
import { jsonFrom } from "./value.js";

/** The aggregates of a call without any. */
export type NoAggregates = readonly [];

/** The objects to count, how to group them, and what to compute over them. */
export interface CountSelection<
  A extends readonly Aggregate[] = readonly Aggregate[],
> extends Selection {
  /**
   * Up to 8 paths, as in `fields`, to group by: "spec.nodeName", "status.phase". Default:
   * none, only the total.
   */
  readonly groupBy?: readonly string[] | undefined;
  /**
   * Up to 8 values to compute in total and for each group:
   * `[sum("spec.containers[*].resources.requests.cpu")]`. Default: none.
   */
  readonly aggregates?: A | undefined;
}

/** Options of a count. */
export interface CountOptions<A extends readonly Aggregate[] = readonly Aggregate[]>
  extends CountSelection<A>, ReadOptions, ConsistencyOptions {
  /** The maximum number of groups, the largest first. Default: 1,000; at most 10,000. */
  readonly maxGroups?: number | undefined;
}

/** A group of objects with the same values. */
export interface ObjectGroup<A extends readonly Aggregate[] = readonly Aggregate[]> {
  /** A value for each path of `groupBy`: a string, a number, a boolean, or null for none. */
  readonly values: readonly JsonValue[];
  readonly count: number;
  /** The aggregates of the group's objects, in the order of the request. */
  readonly aggregates: AggregateResults<A>;
}

/** The numbers of a selection at one version. */
export interface Counts<A extends readonly Aggregate[] = readonly Aggregate[]> {
  readonly resource: Resource;
  readonly total: number;
  /** The largest groups first, groups of equal size in order of their values. */
  readonly groups: readonly ObjectGroup<A>[];
  /**
   * The aggregates of all objects, in the order of the request. An object that belongs to several
   * groups is included once.
   */
  readonly aggregates: AggregateResults<A>;
  /** The resource version of the count. */
  readonly resourceVersion: string;
  readonly source: Source | undefined;
  /** The namespaces that the count covers, as in ListPage. Empty if the count is complete. */
  readonly namespaces: readonly string[];
  /** Human-readable warnings, as in ListPage. */
  readonly warnings: readonly string[];
}

/** The result of a count. */
export interface CountResult<
  A extends readonly Aggregate[] = readonly Aggregate[],
> extends Counts<A> {
  /** The number of groups that were left out because there were more than `maxGroups`. */
  readonly remainingGroupCount: number;
  readonly freshness: Freshness | undefined;
}

/** Returns the request message of a count. */
export function countRequest(
  resource: string,
  { maxGroups = 0, minResourceVersion = "", ...options }: CountOptions,
): MessageInitShape<typeof CountRequestSchema> {
  return {
    resource,
    ...countFields(options),
    maxGroups,
    minResourceVersion,
    ...consistencyField(options),
  };
}

/** Returns the fields of a request that select what is counted. */
export function countFields({ groupBy = [], aggregates = [], ...selection }: CountSelection) {
  return {
    ...selectionFields(selection),
    groupBy: paths(groupBy),
    aggregates: aggregateFields(aggregates),
  };
}

/** Returns the aggregates of a selection. Without any, A is NoAggregates. */
export function requestedAggregates<A extends readonly Aggregate[]>({
  aggregates = [] as unknown as A,
}: CountSelection<A>): A {
  return aggregates;
}

export function countFrom<A extends readonly Aggregate[]>(
  response: CountResponse,
  aggregates: A,
): CountResult<A> {
  return {
    resource: required(response.resource, "the resource of the objects"),
    total: Number(response.totalCount),
    groups: response.groups.map((group) => groupFrom(group, aggregates)),
    aggregates: aggregatesFrom(aggregates, response.aggregates),
    remainingGroupCount: Number(response.remainingGroupCount),
    resourceVersion: response.resourceVersion,
    freshness: freshnessFrom(response.freshness),
    source: sourceFrom(response.source),
    namespaces: response.namespaces,
    warnings: response.warnings,
  };
}

/** Converts a group of a response. */
export function groupFrom<A extends readonly Aggregate[]>(
  { values, count, aggregates: results }: GroupMessage,
  aggregates: A,
): ObjectGroup<A> {
  return {
    values: values.map(jsonFrom),
    count: Number(count),
    aggregates: aggregatesFrom(aggregates, results),
  };
}
