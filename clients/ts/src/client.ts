import { createClient as createServiceClient, type Transport } from "@connectrpc/connect";
import {
  accessDecisionsFrom,
  checkAccessRequest,
  type AccessDecision,
  type AccessCheck,
} from "./access.js";
import type { Aggregate } from "./aggregate.js";
import { applyDocuments, type ApplyOptions } from "./apply.js";
import type { WriteBody } from "./body.js";
import { unary, type CallOptions } from "./call.js";
import {
  countFrom,
  countRequest,
  requestedAggregates,
  type CountOptions,
  type CountResult,
  type NoAggregates,
} from "./count.js";
import { createRequest, type CreateOptions, type CreateResult } from "./create.js";
import {
  deleteCollectionRequest,
  deleteRequest,
  type DeleteCollectionOptions,
  type DeleteCollectionResult,
  type DeleteOptions,
  type DeleteResult,
} from "./delete.js";
import {
  resourceTypesFrom,
  schemaFrom,
  type ResourceTypesOptions,
  type ResourceTypesResult,
  type SchemaResult,
} from "./discovery.js";
import { AccessService } from "./gen/kubeconnect/v1/access_service_pb.js";
import { DiscoveryService } from "./gen/kubeconnect/v1/discovery_service_pb.js";
import { PodService } from "./gen/kubeconnect/v1/pod_service_pb.js";
import { ResourceService } from "./gen/kubeconnect/v1/resource_service_pb.js";
import { getRequest, GetResult, type GetOptions } from "./get.js";
import { identityFrom, type Identity } from "./identity.js";
import { List, type ListOptions } from "./list.js";
import { LiveCounts, type WatchCountsOptions } from "./livecounts.js";
import { LivePage, type LivePageOptions } from "./livepage.js";
import { Log, type LogOptions } from "./log.js";
import { LogLines, type LogLinesOptions } from "./loglines.js";
import type { ApplyDocuments } from "./manifest.js";
import type { KubeValue, ObjectName } from "./object.js";
import { patchRequest, type PatchOptions, type PatchResult } from "./patch.js";
import { objectFrom } from "./message.js";
import type {
  BodyOf,
  BodyOfType,
  ObjectOf,
  ObjectsOf,
  ResourceName,
  WholeObject,
} from "./resources.js";
import type { CredentialOptions } from "./retry.js";
import { SharedStreams } from "./sharedstreams.js";
import { Store, type StoreOptions } from "./store.js";
import { Table, type TableOptions } from "./table.js";
import { updateRequest, type UpdateOptions, type UpdateResult } from "./update.js";
import { Watch, type WatchOptions } from "./watch.js";
import { WatchMany, type WatchManyOptions, type WatchSpec, type WatchSpecs } from "./watchmany.js";

/**
 * A client that reads and writes the objects of any resource of the cluster. A resource is
 * named as in kubectl: "pods", "po", "deployments.apps". After Code.Unavailable or
 * Code.DeadlineExceeded, a write may or may not have been applied.
 *
 * The name of a resource has the type of its objects: `get("pods", …)` returns a Pod, which is
 * exported by "@kubeconnect/client/k8s/core/v1", as are the other built-in kinds. ResourceTypes
 * adds those of custom resources; for others, it is KubeValue. A call with a type argument,
 * `get<MyPod>("pods", …)`, has that type. Types are not checked at run time: with `fields` or
 * `metadataOnly`, the fields that were not requested are missing.
 */
export interface Client {
  /** Returns one object. Fails with Code.NotFound if it does not exist. */
  get<R extends ResourceName>(
    resource: R,
    name: ObjectName,
    options?: GetOptions & WholeObject<R>,
  ): Promise<GetResult<ObjectOf<R>>>;
  /** The same, with objects of the type argument. */
  get<T = KubeValue>(
    resource: string,
    name: ObjectName,
    options?: GetOptions,
  ): Promise<GetResult<T>>;

  /**
   * Lists the objects of a selection, from one snapshot. The request is sent when the list is
   * iterated, and each iteration reads a new snapshot.
   */
  list<R extends ResourceName>(resource: R, options?: ListOptions): List<ObjectOf<R>>;
  /** The same, with objects of the type argument. */
  list<T = KubeValue>(resource: string, options?: ListOptions): List<T>;

  /**
   * Keeps a local, indexed copy of a selection: the way to have the current objects at hand. The
   * copy is live while the store is followed, and shares one stream with all live stores of the
   * client.
   */
  store<R extends ResourceName>(
    resource: R,
    options?: StoreOptions<ObjectOf<R>>,
  ): Store<ObjectOf<R>>;
  /** The same, with objects of the type argument. */
  store<T = KubeValue>(resource: string, options?: StoreOptions<T>): Store<T>;

  /**
   * Watches the objects of a selection and every change to them, for programs that react to each
   * event. To keep a copy of the objects, see `store`. The watch is opened when it is
   * iterated, and lasts: a lost stream is opened again and resumes at its last position.
   */
  watch<R extends ResourceName>(resource: R, options?: WatchOptions): Watch<ObjectOf<R>>;
  /** The same, with objects of the type argument. */
  watch<T = KubeValue>(resource: string, options?: WatchOptions): Watch<T>;

  /**
   * Opens several watches, at most 100, in one stream, each with a key that the caller chooses.
   * This is low level: the stores of a client share a stream without it. If one of them is rejected
   * or ends, all do. As with `watch`, the stream is opened when the result is iterated, and lasts. A
   * type argument has the type of the objects' values for each key.
   */
  watchMany<const W extends Readonly<Record<string, WatchSpec>>>(
    watches: W,
    options?: WatchManyOptions,
  ): WatchMany<ObjectsOf<W>>;
  /** The same, with objects of the type argument. */
  watchMany<V extends object>(watches: WatchSpecs<V>, options?: WatchManyOptions): WatchMany<V>;

  /**
   * Counts the objects of a selection, in total and by the values of paths, and computes
   * aggregates of their values. Sends no objects.
   */
  count<const A extends readonly Aggregate[] = NoAggregates>(
    resource: string,
    options?: CountOptions<A>,
  ): Promise<CountResult<A>>;

  /**
   * Counts as `count` does, and keeps the numbers current: a store of the counts, which can also be
   * iterated. It is live while it is followed.
   */
  watchCounts<const A extends readonly Aggregate[] = NoAggregates>(
    resource: string,
    options?: WatchCountsOptions<A>,
  ): LiveCounts<A>;

  /**
   * Follows a page of the sorted selection, for tables of many objects: a store of the page, which
   * can be scrolled, and iterated. It is live while it is followed.
   */
  livePage<R extends ResourceName>(resource: R, options?: LivePageOptions): LivePage<ObjectOf<R>>;
  /** The same, with objects of the type argument. */
  livePage<T = KubeValue>(resource: string, options?: LivePageOptions): LivePage<T>;

  /**
   * Returns the objects of a selection as the table that the API server prints for kubectl. The
   * request is sent when the table is iterated, and each iteration reads the table again.
   */
  table(resource: string, options?: TableOptions): Table;

  /**
   * Reads the log of a pod's container, with `follow` until the container ends. The stream is
   * opened when the log is iterated, and each iteration opens a new stream.
   */
  logs(pod: ObjectName, options?: LogOptions): Log;

  /**
   * Reads the logs of a selection of pods as lines, each with its pod and container, and with
   * `follow` those of pods that are created later. The stream is opened when the lines are
   * iterated, and lasts.
   */
  logLines(options?: LogLinesOptions): LogLines;

  /**
   * Creates an object. Its kind may be left out. Fails with Code.AlreadyExists if an object
   * with its name exists.
   */
  create<R extends ResourceName>(
    resource: R,
    object: BodyOf<R>,
    options?: CreateOptions & WholeObject<R>,
  ): Promise<CreateResult<ObjectOf<R>>>;
  /** Creates the object of a subresource that has another kind, such as "eviction". */
  create<T = KubeValue>(
    resource: string,
    object: WriteBody,
    options: CreateOptions & { readonly subresource: string },
  ): Promise<CreateResult<T>>;
  /** Creates an object of the type argument. */
  create<T = never>(
    resource: string,
    object: BodyOfType<NoInfer<T>>,
    options?: CreateOptions,
  ): Promise<CreateResult<T>>;

  /**
   * Replaces an object. Fails with Code.Aborted if the resource version in its metadata is
   * outdated or a precondition fails: read the object again.
   */
  update<R extends ResourceName>(
    resource: R,
    object: BodyOf<R>,
    options?: UpdateOptions & WholeObject<R>,
  ): Promise<UpdateResult<ObjectOf<R>>>;
  /** Replaces an object of a subresource that has another kind, such as "scale". */
  update<T = KubeValue>(
    resource: string,
    object: WriteBody,
    options: UpdateOptions & { readonly subresource: string },
  ): Promise<UpdateResult<T>>;
  /** Updates an object of the type argument. */
  update<T = never>(
    resource: string,
    object: BodyOfType<NoInfer<T>>,
    options?: UpdateOptions,
  ): Promise<UpdateResult<T>>;

  /**
   * Changes parts of one object. Fails with Code.Aborted on a conflict: a precondition fails, or
   * other field managers own fields of an "apply" patch.
   */
  patch<R extends ResourceName>(
    resource: R,
    name: ObjectName,
    options: PatchOptions & WholeObject<R>,
  ): Promise<PatchResult<ObjectOf<R>>>;
  /** The same, with objects of the type argument. */
  patch<T = KubeValue>(
    resource: string,
    name: ObjectName,
    options: PatchOptions,
  ): Promise<PatchResult<T>>;

  /**
   * Creates objects, or changes them to have these fields (server-side apply), in order. The
   * documents name their kinds, names and namespaces. The items of a List are applied one by one,
   * and empty documents are skipped. YAML is sent unchanged.
   *
   * Throws a TypeError, before anything is applied, if a document does not name its object. All
   * objects are tried. If some are rejected, the error is an ApplyError, which has the result or the
   * error of each object: ConflictError, with a cause for each field, if other managers own the fields.
   */
  applyYaml(documents: ApplyDocuments, options?: ApplyOptions): Promise<readonly PatchResult[]>;

  /**
   * Deletes one object. Fails with Code.NotFound if it does not exist, and with Code.Aborted if
   * a precondition fails.
   */
  delete<R extends ResourceName>(
    resource: R,
    name: ObjectName,
    options?: DeleteOptions,
  ): Promise<DeleteResult<ObjectOf<R>>>;
  /** The same, with objects of the type argument. */
  delete<T = KubeValue>(
    resource: string,
    name: ObjectName,
    options?: DeleteOptions,
  ): Promise<DeleteResult<T>>;

  /**
   * Deletes the objects of a selection. Without selectors, all objects of the namespace. The
   * call is not atomic: some objects may have been deleted when it fails.
   */
  deleteCollection(
    resource: string,
    options: DeleteCollectionOptions,
  ): Promise<DeleteCollectionResult>;

  /** Returns the resources that the cluster serves, as `kubectl api-resources` does. */
  resourceTypes(options?: ResourceTypesOptions): Promise<ResourceTypesResult>;

  /** Returns the OpenAPI schema of a resource's kind. Fails with Code.NotFound if it has none. */
  schema(resource: string, options?: CallOptions): Promise<SchemaResult>;

  /**
   * Returns the identity of the caller. Fails with Code.Unauthenticated if the cluster cannot
   * authenticate the caller.
   */
  whoAmI(options?: CallOptions): Promise<Identity>;

  /**
   * Returns whether the caller is allowed to perform each of several actions, at most 100, in the
   * order of the checks. The decisions may be ten seconds old, or older if the operator allows
   * that. Fails as a whole if a check cannot be evaluated, for example because its resource
   * does not exist. Each check counts as a call against the caller's rate limit.
   */
  checkAccess(
    checks: readonly AccessCheck[],
    options?: CallOptions,
  ): Promise<readonly AccessDecision[]>;
}

/** Options of a client over any transport. */
export type ClientOptions = CredentialOptions;

/** Creates a client over any Connect transport. The client needs no closing. */
export function createClient(transport: Transport, options: ClientOptions = {}): Client {
  const { renewsCredentials } = options;
  const service = createServiceClient(ResourceService, transport);
  const access = createServiceClient(AccessService, transport);
  const discovery = createServiceClient(DiscoveryService, transport);
  const pods = createServiceClient(PodService, transport);
  const streams = new SharedStreams(service, { renewsCredentials });
  const client: Client = {
    async get<T>(resource: string, name: ObjectName, options: GetOptions = {}) {
      const request = getRequest(resource, name, options);
      return new GetResult<T>(await unary(options, (call) => service.get(request, call)));
    },

    list<T>(resource: string, options: ListOptions = {}) {
      return new List<T>(service, resource, options);
    },

    watch<T>(resource: string, options: WatchOptions = {}) {
      return new Watch<T>(service, resource, { ...options, renewsCredentials });
    },

    watchMany<V extends object>(watches: WatchSpecs<V>, options: WatchManyOptions = {}) {
      return new WatchMany<V>(service, watches, { ...options, renewsCredentials });
    },

    store<T>(resource: string, options: StoreOptions<T> = {}) {
      return new Store<T>(streams, resource, options);
    },

    async count<const A extends readonly Aggregate[] = NoAggregates>(
      resource: string,
      options: CountOptions<A> = {},
    ) {
      const request = countRequest(resource, options);
      const response = await unary(options, (call) => service.count(request, call));
      return countFrom(response, requestedAggregates(options));
    },

    watchCounts<const A extends readonly Aggregate[] = NoAggregates>(
      resource: string,
      options: WatchCountsOptions<A> = {},
    ) {
      return new LiveCounts<A>(streams, resource, options);
    },

    livePage<T>(resource: string, options: LivePageOptions = {}) {
      return new LivePage<T>(streams, resource, options);
    },

    table(resource: string, options: TableOptions = {}) {
      return new Table(service, resource, options);
    },

    logs(pod: ObjectName, options: LogOptions = {}) {
      return new Log(pods, pod, options);
    },

    logLines(options: LogLinesOptions = {}) {
      return new LogLines(pods, { ...options, renewsCredentials });
    },

    async create<T>(resource: string, object: WriteBody, options: CreateOptions = {}) {
      const request = createRequest(resource, object, options);
      const response = await unary(options, (call) => service.create(request, call));
      return { object: objectFrom<T>(response), warnings: response.warnings };
    },

    async update<T>(resource: string, object: WriteBody, options: UpdateOptions = {}) {
      const request = updateRequest(resource, object, options);
      const response = await unary(options, (call) => service.update(request, call));
      const { warnings, created } = response;
      return { object: objectFrom<T>(response), warnings, created };
    },

    async patch<T>(resource: string, name: ObjectName, options: PatchOptions) {
      const request = patchRequest(resource, name, options);
      const response = await unary(options, (call) => service.patch(request, call));
      const { warnings, created } = response;
      return { object: objectFrom<T>(response), warnings, created };
    },

    applyYaml: (documents: ApplyDocuments, options: ApplyOptions = {}) =>
      applyDocuments(client, documents, options),

    async delete<T>(resource: string, name: ObjectName, options: DeleteOptions = {}) {
      const request = deleteRequest(resource, name, options);
      const response = await unary(options, (call) => service.delete(request, call));
      const object = response.object && objectFrom<T>(response);
      const { resourceVersion, warnings } = response;
      return { object, resourceVersion, warnings };
    },

    async deleteCollection(resource: string, options: DeleteCollectionOptions) {
      const request = deleteCollectionRequest(resource, options);
      const response = await unary(options, (call) => service.deleteCollection(request, call));
      const { deletedCount, resourceVersion, warnings } = response;
      return { deletedCount: Number(deletedCount), resourceVersion, warnings };
    },

    async resourceTypes({ group = "", category = "", ...options }: ResourceTypesOptions = {}) {
      const request = { group, category };
      const response = await unary(options, (call) => discovery.listResourceTypes(request, call));
      return resourceTypesFrom(response);
    },

    async schema(resource: string, options: CallOptions = {}) {
      return schemaFrom(await unary(options, (call) => discovery.getSchema({ resource }, call)));
    },

    async whoAmI(options: CallOptions = {}) {
      return identityFrom(await unary(options, (call) => access.whoAmI({}, call)));
    },

    async checkAccess(checks: readonly AccessCheck[], options: CallOptions = {}) {
      const request = checkAccessRequest(checks);
      const response = await unary(options, (call) => access.checkAccess(request, call));
      return accessDecisionsFrom(response, checks.length);
    },
  };
  return client;
}
