/**
 * A client for live Kubernetes cluster state. This module depends on neither Node.js nor a
 * browser; `@kubeconnect/client/node` and `@kubeconnect/client/web` add the transport.
 *
 * @module
 */
export { Code } from "@connectrpc/connect";

export type { BearerToken } from "./bearer.js";
export type { WriteBody } from "./body.js";
export { createClient, type CallOptions, type Client, type ReadOptions } from "./client.js";
export { LiveCollection, type Changes } from "./collection.js";
export type { CountOptions, CountResult, ObjectGroup } from "./count.js";
export type { CreateOptions, CreateResult } from "./create.js";
export type {
  DeleteCollectionOptions,
  DeleteCollectionResult,
  DeleteOptions,
  DeleteResult,
  DeleteSelection,
  PropagationPolicy,
} from "./delete.js";
export type {
  CacheState,
  FailedGroup,
  ResourceType,
  ResourceTypesResult,
  ResourceTypesSelection,
  SchemaResult,
} from "./discovery.js";
export type { ConnectionState } from "./connection.js";
export { KubeconnectError, type StatusCause } from "./error.js";
export { follow, type Following, type FollowOptions } from "./follow.js";
export type { Freshness } from "./freshness.js";
export { GetResult, type GetOptions } from "./get.js";
export type { Identity } from "./identity.js";
export { List, type ListAll, type ListOptions, type ListPage, type ListSelection } from "./list.js";
export { Log, type LogOptions, type LogStream } from "./log.js";
export {
  KubeObject,
  keyOf,
  type KubeValue,
  type ObjectHead,
  type ObjectMeta,
  type ObjectName,
  type ResourceKind,
} from "./object.js";
export type { Patch, PatchResult, PatchType } from "./patch.js";
export { HeldObjects } from "./patches.js";
export type { Consistency, ConsistencyOptions, FieldOptions, Source } from "./read.js";
export type { Relation, RelationType } from "./relation.js";
export { RetryPolicy, type RetryOptions } from "./retry.js";
export type { Selection } from "./selection.js";
export { sleep, type Sleep } from "./sleep.js";
export type { StalenessLimit } from "./staleness.js";
export {
  Table,
  type TableAll,
  type TableColumn,
  type TablePage,
  type TableRow,
  type TableSelection,
} from "./table.js";
export type { UpdateOptions, UpdateResult } from "./update.js";
export {
  Watch,
  type ResumableEvent,
  type WatchBatch,
  type WatchEvent,
  type WatchOptions,
  type WatchSelection,
} from "./watch.js";
export {
  WatchMany,
  type WatchManyBatch,
  type WatchManyEvent,
  type WatchManyOptions,
  type WatchSpec,
  type WatchSpecs,
} from "./watchmany.js";
export { watchdog, type OpenBatches, type OpenWatch, type SilenceLimits } from "./watchdog.js";
export type { FieldValidation, Preconditions, WriteOptions } from "./write.js";
