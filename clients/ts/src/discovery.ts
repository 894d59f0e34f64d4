import type { JsonObject } from "@bufbuild/protobuf";
import type { CallOptions } from "./call.js";
import { freshnessFrom, type Freshness } from "./freshness.js";
import type {
  CacheState as CacheStateMessage,
  GetSchemaResponse,
  ListResourceTypesResponse,
  ResourceType as ResourceTypeMessage,
} from "./gen/kubeconnect/v1/discovery_service_pb.js";
import { required } from "./message.js";
import type { Resource } from "./object.js";

/** Options of resourceTypes. A resource must match all that are given. */
export interface ResourceTypesOptions extends CallOptions {
  /** One API group; "core" for the core group. */
  readonly group?: string | undefined;
  /** One category, such as "all". */
  readonly category?: string | undefined;
}

/** The state of the service's cache of one resource. */
export interface CacheState {
  /**
   * Whether the cache exists. It starts at the first read, and stops when it has been
   * unused for a while.
   */
  readonly running: boolean;
  /** Whether the cache has a complete snapshot. */
  readonly synced: boolean;
  /** The number of cached objects. */
  readonly objectCount: number;
  /** The approximate size of the objects in memory, in bytes. */
  readonly sizeBytes: number;
  /** The resource version that the cache has reached. */
  readonly resourceVersion: string;
  readonly freshness: Freshness | undefined;
}

/** A resource that the cluster serves. */
export interface ResourceType {
  /**
   * Its names, in the version that the cluster prefers. The other fields are about that version.
   */
  readonly resource: Resource;
  /** All versions in which it is served, the preferred one first. */
  readonly versions: readonly string[];
  /** The name of one object, such as "pod". */
  readonly singular: string;
  /** Short names, such as "po". */
  readonly shortNames: readonly string[];
  /** Categories, such as "all". */
  readonly categories: readonly string[];
  /** The verbs that it supports, such as "get", "list" and "watch". */
  readonly verbs: readonly string[];
  /** Its subresources, such as "status", in order. */
  readonly subresources: readonly string[];
  /**
   * The state of its cache; undefined while there is no cache, and for callers that are not
   * allowed to list the resource in all namespaces.
   */
  readonly cache: CacheState | undefined;
}

/** A version of an API group for which discovery failed. */
export interface FailedGroupVersion {
  readonly group: string;
  readonly version: string;
  /** The error, human-readable. */
  readonly message: string;
}

/** The resources that the cluster serves. */
export interface ResourceTypesResult {
  /** The resources in order of group and name, once for all their versions. */
  readonly types: readonly ResourceType[];
  /** The group versions for which discovery failed: their resources are missing. */
  readonly failedGroupVersions: readonly FailedGroupVersion[];
}

/** The schema of one kind. */
export interface SchemaResult {
  readonly resource: Resource;
  /**
   * The OpenAPI v3 schema. Referenced schemas are included, at the path of each "$ref":
   * "#/components/schemas/NAME".
   */
  readonly schema: JsonObject;
}

export function resourceTypesFrom(response: ListResourceTypesResponse): ResourceTypesResult {
  return {
    types: response.resourceTypes.map(resourceTypeFrom),
    failedGroupVersions: response.failedGroupVersions,
  };
}

export function schemaFrom({ resource, schema }: GetSchemaResponse): SchemaResult {
  return { resource: required(resource, "the resource"), schema: required(schema, "the schema") };
}

function resourceTypeFrom(message: ResourceTypeMessage): ResourceType {
  const { versions, singular, shortNames, categories, verbs, subresources } = message;
  return {
    resource: required(message.resource, "the names of a resource"),
    versions,
    singular,
    shortNames,
    categories,
    verbs,
    subresources,
    cache: message.cache && cacheFrom(message.cache),
  };
}

function cacheFrom(message: CacheStateMessage): CacheState {
  const { running, synced, objectCount, sizeBytes, resourceVersion, freshness } = message;
  return {
    running,
    synced,
    objectCount: Number(objectCount),
    sizeBytes: Number(sizeBytes),
    resourceVersion,
    freshness: freshnessFrom(freshness),
  };
}
