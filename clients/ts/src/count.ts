import type { JsonValue, MessageInitShape } from "@bufbuild/protobuf";
import type { ReadOptions } from "./call.js";
import { freshnessFrom, type Freshness } from "./freshness.js";
import type { CountRequestSchema, CountResponse } from "./gen/kubeconnect/v1/read_pb.js";
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

/** Options of a count: the objects to count, and how to group them. */
export interface CountOptions extends Selection, ReadOptions, ConsistencyOptions {
  /**
   * Up to 8 paths, as in `fields`, to group by: "spec.nodeName", "status.phase". Default:
   * none, only the total.
   */
  readonly groupBy?: readonly string[] | undefined;
  /** The maximum number of groups, the largest first. Default: 1,000; at most 10,000. */
  readonly maxGroups?: number | undefined;
}

/** A group of objects with the same values. */
export interface ObjectGroup {
  /** A value for each path of `groupBy`: a string, a number, a boolean, or null for none. */
  readonly values: readonly JsonValue[];
  readonly count: number;
}

/** The result of a count. */
export interface CountResult {
  readonly resource: Resource;
  readonly total: number;
  /** The largest groups first, groups of equal size in order of their values. */
  readonly groups: readonly ObjectGroup[];
  /** The number of groups that were left out because there were more than `maxGroups`. */
  readonly remainingGroupCount: number;
  /** The resource version of the count. */
  readonly resourceVersion: string;
  readonly freshness: Freshness | undefined;
  readonly source: Source | undefined;
  /** The namespaces that the count covers, as in ListPage. Empty if the count is complete. */
  readonly namespaces: readonly string[];
  /** Human-readable warnings, as in ListPage. */
  readonly warnings: readonly string[];
}

/** Returns the request message of a count. */
export function countRequest(
  resource: string,
  { groupBy = [], maxGroups = 0, minResourceVersion = "", ...options }: CountOptions,
): MessageInitShape<typeof CountRequestSchema> {
  return {
    resource,
    ...selectionFields(options),
    groupBy: paths(groupBy),
    maxGroups,
    minResourceVersion,
    ...consistencyField(options),
  };
}

export function countFrom(response: CountResponse): CountResult {
  return {
    resource: required(response.resource, "the resource of the objects"),
    total: Number(response.totalCount),
    groups: response.groups.map(({ values, count }) => ({
      values: values.map(jsonFrom),
      count: Number(count),
    })),
    remainingGroupCount: Number(response.remainingGroupCount),
    resourceVersion: response.resourceVersion,
    freshness: freshnessFrom(response.freshness),
    source: sourceFrom(response.source),
    namespaces: response.namespaces,
    warnings: response.warnings,
  };
}
