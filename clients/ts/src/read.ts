import {
  Consistency as ConsistencyValue,
  Source as SourceValue,
} from "./gen/kubeconnect/v1/resource_service_pb.js";
import { valueOf } from "./word.js";

/**
 * How current a read must be: "cached" is from memory, what the cluster held a moment
 * ago; "latest" is from the API server, as it is at the time of the call. That is slower,
 * and work for the API server: to see your own write, `minResourceVersion` is better.
 */
export type Consistency = "cached" | "latest";

/**
 * Where an answer comes from: "cache" is memory; "apiServer" is where "latest" is read,
 * a subresource, and what is not cached.
 */
export type Source = "cache" | "apiServer";

/** What reads take that may be answered by the API server. */
export interface ConsistencyOptions {
  /** Default: "cached". */
  readonly consistency?: Consistency | undefined;
}

/** What reads of objects take. */
export interface FieldOptions {
  /**
   * Only these paths, in kubectl's notation: "metadata.name",
   * "spec.containers[*].image". Default: all.
   */
  readonly fields?: readonly string[] | undefined;
  /** Objects come as PartialObjectMetadata: their metadata and nothing else. */
  readonly metadataOnly?: boolean | undefined;
}

/** The field of a request that has a consistency. */
export function consistencyField({ consistency = "cached" }: ConsistencyOptions) {
  return { consistency: valueOf(consistencies, consistency) };
}

/** The fields of a request that reads objects. */
export function objectFields({ fields = [], metadataOnly = false }: FieldOptions) {
  return { fields: paths(fields), metadataOnly };
}

/** The paths to send. A single string is refused, for its letters would be sent. */
export function paths(list: readonly string[]): string[] {
  if (typeof list === "string") {
    throw new TypeError(`paths are a list, such as ["metadata.name"]`);
  }
  return [...list];
}

/** Undefined where the service has not told, or tells what this client does not know. */
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
