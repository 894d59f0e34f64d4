import type { JsonValue, MessageInitShape } from "@bufbuild/protobuf";
import type { ReadOptions } from "./call.js";
import { freshnessFrom, type Freshness } from "./freshness.js";
import type {
  CountObjectsRequestSchema,
  CountObjectsResponse,
} from "./gen/kubeconnect/v1/resource_service_pb.js";
import { required } from "./message.js";
import type { ResourceKind } from "./object.js";
import {
  consistencyField,
  paths,
  sourceFrom,
  type ConsistencyOptions,
  type Source,
} from "./read.js";
import { selectionFields, type Selection } from "./selection.js";
import { jsonFrom } from "./value.js";

/** How to count. */
export interface CountOptions extends ReadOptions, ConsistencyOptions {
  /**
   * Up to 8 paths by whose values to count, as in `fields`: "spec.nodeName",
   * "status.phase". Default: none, only the total.
   */
  readonly groupBy?: readonly string[] | undefined;
  /** How many groups, those with the most objects first. Default: 1,000; at most 10,000. */
  readonly maxGroups?: number | undefined;
}

/** A number of objects that have the same values. */
export interface ObjectGroup {
  /** One for each path of `groupBy`: a text, a number, a boolean, or null for none. */
  readonly values: readonly JsonValue[];
  readonly count: number;
}

/** How many objects there are. */
export interface CountResult {
  readonly kind: ResourceKind;
  readonly total: number;
  /** The largest first, and those of one size in order of their values. */
  readonly groups: readonly ObjectGroup[];
  /** How many groups were left out, for there were more than `maxGroups`. */
  readonly remainingGroups: number;
  /** The version at which they were counted. */
  readonly resourceVersion: string;
  readonly freshness: Freshness | undefined;
  readonly source: Source | undefined;
  /** As in ListPage: those that the count covers. Empty: it is complete. */
  readonly namespaces: readonly string[];
  /** For people, as in ListPage. */
  readonly warnings: readonly string[];
}

/** The message of a count. */
export function countRequest(
  resource: string,
  selection: Selection,
  { groupBy = [], maxGroups = 0, minResourceVersion = "", ...options }: CountOptions,
): MessageInitShape<typeof CountObjectsRequestSchema> {
  return {
    resource,
    ...selectionFields(selection),
    groupBy: paths(groupBy),
    maxGroups,
    minResourceVersion,
    ...consistencyField(options),
  };
}

export function countFrom(response: CountObjectsResponse): CountResult {
  return {
    kind: required(response.kind, "the kind of its objects"),
    total: Number(response.total),
    groups: response.groups.map(({ values, count }) => ({
      values: values.map(jsonFrom),
      count: Number(count),
    })),
    remainingGroups: Number(response.remainingGroups),
    resourceVersion: response.resourceVersion,
    freshness: freshnessFrom(response.freshness),
    source: sourceFrom(response.source),
    namespaces: response.namespaces,
    warnings: response.warnings,
  };
}
