import {
  Consistency as ConsistencyValue,
  Source as SourceValue,
} from "./gen/kubeconnect/v1/consistency_pb.js";
import { valueOf } from "./enum.js";

/**
 * How current a read must be. "cached" reads from the cache, which is usually milliseconds older
 * than the cluster. "latest" reads from the API server, at the time of the call, which is slower
 * and adds load to the API server. To read your own write, prefer `minResourceVersion`.
 */
export type Consistency = "cached" | "latest";

/**
 * Where a response was read: "cache", or "apiServer" for "latest", for subresources, and for
 * resources that are not cached.
 */
export type Source = "cache" | "apiServer";

/** Options of reads that support "latest". */
export interface ConsistencyOptions {
  /** How current the read must be. Default: "cached". */
  readonly consistency?: Consistency | undefined;
}

/** Options of reads that return objects. */
export interface FieldOptions {
  /**
   * The paths to return of each object, in kubectl's notation: "metadata.name",
   * "spec.containers[*].image". Default: all.
   */
  readonly fields?: readonly string[] | undefined;
  /** Returns objects as PartialObjectMetadata: their metadata and nothing else. */
  readonly metadataOnly?: boolean | undefined;
}

/** Returns the consistency field of a request. */
export function consistencyField({ consistency = "cached" }: ConsistencyOptions) {
  return { consistency: valueOf(consistencies, consistency) };
}

/** Returns the fields of a request that reads objects. */
export function objectFields({ fields = [], metadataOnly = false }: FieldOptions) {
  return { fields: paths(fields), metadataOnly };
}

/** Returns the paths to send. Throws for a single string, whose characters would be sent. */
export function paths(list: readonly string[]): string[] {
  if (typeof list === "string") {
    throw new TypeError(`paths must be a list, such as ["metadata.name"]`);
  }
  return [...list];
}

/** Converts the API's value; undefined if it is unspecified or unknown. */
export function sourceFrom(source: SourceValue): Source | undefined {
  switch (source) {
    case SourceValue.CACHE:
      return "cache";
    case SourceValue.API_SERVER:
      return "apiServer";
    default:
      return undefined;
  }
}

const consistencies: Record<Consistency, ConsistencyValue> = {
  cached: ConsistencyValue.CACHED,
  latest: ConsistencyValue.LATEST,
};
