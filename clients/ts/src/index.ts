/// <reference lib="dom" preserve="true" />
/**
 * A client for live Kubernetes cluster state. This module depends on neither Node.js nor a
 * browser; `@kubeconnect/client/node` and `@kubeconnect/client/web` add the transport.
 *
 * The types of `@connectrpc/connect` refer to one of the DOM library, which the configuration of a
 * program for Node.js may not have. The reference above adds the library.
 *
 * @module
 */
export { Code } from "@connectrpc/connect";

export type { AccessDecision, AccessCheck } from "./access.js";
export {
  AggregateResult,
  average,
  max,
  min,
  sum,
  type Aggregate,
  type AggregateFunction,
  type AggregateResults,
  type AggregateValue,
} from "./aggregate.js";
export type { ApplyOptions } from "./apply.js";
export type { BearerToken } from "./bearer.js";
export type { WriteBody } from "./body.js";
export type { CallOptions, ReadOptions, StreamOptions } from "./call.js";
export { createClient, type Client, type ClientOptions } from "./client.js";
export type { CredentialOptions } from "./retry.js";
export { LiveCollection, type Changes } from "./collection.js";
export type {
  CountOptions,
  CountResult,
  Counts,
  CountSelection,
  NoAggregates,
  ObjectGroup,
} from "./count.js";
export type { CreateOptions, CreateResult } from "./create.js";
export type {
  DeleteCollectionOptions,
  DeleteCollectionResult,
  DeleteOptions,
  DeleteResult,
  PropagationPolicy,
} from "./delete.js";
export type {
  CacheState,
  FailedGroupVersion,
  ResourceType,
  ResourceTypesOptions,
  ResourceTypesResult,
  SchemaResult,
} from "./discovery.js";
export type { ConnectionState } from "./connection.js";
export {
  AlreadyExistsError,
  ApplyError,
  CancelledError,
  ConflictError,
  DeadlineExceededError,
  ExpiredError,
  ForbiddenError,
  InternalError,
  InvalidArgumentError,
  InvalidError,
  KubeconnectError,
  NotFoundError,
  ResourceExhaustedError,
  TooManyRequestsError,
  UnauthenticatedError,
  UnavailableError,
  UnimplementedError,
  UnreadableObjectError,
  type StatusCause,
} from "./error.js";
export type { WatchBatch, WatchEvent } from "./event.js";
export type { EventStream, EventStreamOptions, StreamBatch } from "./eventstream.js";
export type { Freshness } from "./freshness.js";
export { GetResult, type GetOptions } from "./get.js";
export type { Identity } from "./identity.js";
export type { Join, JoinOptions, Joins, JoinType } from "./join.js";
export type { Joined, JoinedObjects } from "./joined.js";
export { List, type ListAll, type ListOptions, type ListPage } from "./list.js";
export { LiveCounts, type WatchCountsOptions } from "./livecounts.js";
export { LivePage, type LivePageOptions, type PageRange, type PageSnapshot } from "./livepage.js";
export type { LiveStore, LiveStoreOptions, LiveUpdate } from "./livestore.js";
export { Log, type LogOptions, type LogStream } from "./log.js";
export { LogLine, type LogEvent, type LogEventType } from "./logline.js";
export { LogLines, type LineFilter, type LogLinesOptions } from "./loglines.js";
export type { ApplyDocuments } from "./manifest.js";
export {
  KubeObject,
  type KubeValue,
  type ObjectMeta,
  type ObjectName,
  type Resource,
} from "./object.js";
export { keyOf, ObjectState, type ObjectHead } from "./objectstate.js";
export type { PatchOptions, PatchResult, PatchType } from "./patch.js";
export type { Consistency, ConsistencyOptions, FieldOptions, Source } from "./read.js";
export type { ReconnectOptions } from "./reconnect.js";
export type { Relation, RelationType } from "./relation.js";
// A program can add to an interface of this module only if the module exports all of its file.
export type * from "./resources.js";
export type { Selection } from "./selection.js";
export type { Sleep } from "./sleep.js";
export { Store, type StoreOptions, type StoreSnapshot } from "./store.js";
export {
  Table,
  type TableAll,
  type TableColumn,
  type TableOptions,
  type TablePage,
  type TableRow,
} from "./table.js";
export type { UpdateOptions, UpdateResult } from "./update.js";
export { Watch, type WatchOptions, type WatchSelection } from "./watch.js";
export {
  WatchMany,
  type PerWatch,
  type WatchedValue,
  type WatchKey,
  type WatchManyBatch,
  type WatchManyEvent,
  type WatchManyOptions,
  type WatchSpec,
  type WatchSpecs,
} from "./watchmany.js";
export type { FieldValidation, Preconditions, WriteOptions } from "./write.js";
