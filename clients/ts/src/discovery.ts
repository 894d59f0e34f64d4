import type { JsonObject } from "@bufbuild/protobuf";
import { freshnessFrom, type Freshness } from "./freshness.js";
import type {
  CacheState as CacheStateMessage,
  FailedGroup as FailedGroupMessage,
  GetSchemaResponse,
  ListResourceTypesResponse,
  ResourceType as ResourceTypeMessage,
} from "./gen/kubeconnect/v1/discovery_service_pb.js";
import { required } from "./message.js";
import type { ResourceKind } from "./object.js";

/** Which of the cluster's resources. What is left out selects everything. */
export interface ResourceTypesSelection {
  /** One API group; "core" for the one without a name. */
  readonly group?: string | undefined;
  /** One category, such as "all". */
  readonly category?: string | undefined;
}

/** The state of the service's cache of one resource. */
export interface CacheState {
  /** Whether there is one: it starts at the first read, and ends when nobody uses it. */
  readonly started: boolean;
  /** Whether it holds a whole snapshot. */
  readonly synced: boolean;
  /** How many objects it holds. */
  readonly objects: number;
  /** How many bytes they take in memory, roughly. */
  readonly bytes: number;
  /** The version that it has reached. */
  readonly resourceVersion: string;
  readonly freshness: Freshness | undefined;
}

/** A resource that the cluster serves. */
export interface ResourceType {
  /** Its names, in the version that the cluster prefers. All else is about that version. */
  readonly kind: ResourceKind;
  /** All versions that it is served in, the preferred one first. */
  readonly versions: readonly string[];
  /** The name of one object, such as "pod". */
  readonly singular: string;
  /** Such as "po". */
  readonly shortNames: readonly string[];
  /** Such as "all". */
  readonly categories: readonly string[];
  /** What can be done with it, in the API server's words: "get", "list", "watch". */
  readonly verbs: readonly string[];
  /** Such as "status", in order. */
  readonly subresources: readonly string[];
  /** Undefined while there is none, and for callers who may not list all of the resource. */
  readonly cache: CacheState | undefined;
}

/** One version of an API group whose resources are not known, and why. */
export type FailedGroup = Readonly<Pick<FailedGroupMessage, "group" | "version" | "message">>;

/** What the cluster serves. */
export interface ResourceTypesResult {
  /** In order of group and name, each once, however many versions it has. */
  readonly types: readonly ResourceType[];
  /** What could not be found out: the resources of these are missing. */
  readonly failedGroups: readonly FailedGroup[];
}

/** The schema of one kind. */
export interface SchemaResult {
  readonly kind: ResourceKind;
  /**
   * The OpenAPI v3 schema. What it refers to lies beside it, where each "$ref" says:
   * "#/components/schemas/NAME".
   */
  readonly schema: JsonObject;
}

export function resourceTypesFrom(response: ListResourceTypesResponse): ResourceTypesResult {
  return {
    types: response.resourceTypes.map(resourceTypeFrom),
    failedGroups: response.failedGroups,
  };
}

export function schemaFrom({ kind, schema }: GetSchemaResponse): SchemaResult {
  return { kind: required(kind, "what it describes"), schema: required(schema, "a schema") };
}

function resourceTypeFrom(message: ResourceTypeMessage): ResourceType {
  const { versions, singular, shortNames, categories, verbs, subresources } = message;
  return {
    kind: required(message.kind, "the kind of a resource"),
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
  const { started, synced, objects, bytes, resourceVersion, freshness } = message;
  return {
    started,
    synced,
    objects: Number(objects),
    bytes: Number(bytes),
    resourceVersion,
    freshness: freshnessFrom(freshness),
  };
}
