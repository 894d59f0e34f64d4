import { createClient as createServiceClient, type Transport } from "@connectrpc/connect";
import { unary, type CallOptions, type ReadOptions } from "./call.js";
import { AccessService } from "./gen/kubeconnect/v1/access_service_pb.js";
import { Encoding } from "./gen/kubeconnect/v1/object_pb.js";
import { ResourceService } from "./gen/kubeconnect/v1/resource_service_pb.js";
import { identityFrom, type Identity } from "./identity.js";
import { List, type ListSelection } from "./list.js";
import { KubeObject, type KubeValue, type ResourceKind } from "./object.js";
import { patchRequest, type Patch, type PatchResult } from "./patch.js";
import { objectFrom } from "./message.js";
import { Watch, type WatchOptions, type WatchSelection } from "./watch.js";

export type { CallOptions, ReadOptions };

/** The name of one object. */
export interface ObjectName {
  /** Required for a namespaced resource, refused for another. */
  readonly namespace?: string | undefined;
  readonly name: string;
}

/**
 * Reads and changes the objects of any resource of the cluster. A resource is
 * named as kubectl names it: "pods", "po", "deployments.apps". The type
 * parameter of each method is the type of the objects' values; nothing checks
 * it.
 */
export interface Client {
  /** One object. Fails with Code.NotFound if it is not there. */
  get<T = KubeValue>(
    resource: string,
    name: ObjectName,
    options?: ReadOptions,
  ): Promise<KubeObject<T>>;

  /**
   * The objects of a selection, from one snapshot. Nothing is sent before the
   * list is iterated; each iteration takes a new snapshot.
   */
  list<T = KubeValue>(resource: string, selection?: ListSelection, options?: ReadOptions): List<T>;

  /**
   * The objects of a selection and every change to them. Nothing is sent before
   * the watch is iterated; each iteration is a stream of its own. `follow` makes
   * one watch of many streams.
   */
  watch<T = KubeValue>(
    resource: string,
    selection?: WatchSelection,
    options?: WatchOptions,
  ): Watch<T>;

  /** Changes parts of one object. Fails with Code.Aborted on a conflict. */
  patch<T = KubeValue>(
    resource: string,
    name: ObjectName,
    patch: Patch,
    options?: CallOptions,
  ): Promise<PatchResult<T>>;

  /** Whom the cluster knows the caller as. Fails with Code.Unauthenticated if it does not. */
  whoAmI(options?: CallOptions): Promise<Identity>;
}

/** A client over any Connect transport. It holds nothing that must be closed. */
export function createClient(transport: Transport): Client {
  const service = createServiceClient(ResourceService, transport);
  const access = createServiceClient(AccessService, transport);
  const kinds = new Map<string, ResourceKind>();
  return {
    async get<T>(
      resource: string,
      { namespace = "", name }: ObjectName,
      { minResourceVersion = "", ...options }: ReadOptions = {},
    ) {
      const encoding = Encoding.JSON;
      const request = { resource, namespace, name, minResourceVersion, encoding };
      const response = await unary(options, (call) => service.get(request, call));
      return objectFrom<T>(response);
    },

    list<T>(resource: string, selection: ListSelection = {}, options: ReadOptions = {}) {
      return new List<T>(service, resource, selection, options);
    },

    watch<T>(resource: string, selection: WatchSelection = {}, options: WatchOptions = {}) {
      return new Watch<T>(service, kinds, resource, selection, options);
    },

    async patch<T>(resource: string, name: ObjectName, patch: Patch, options: CallOptions = {}) {
      const request = patchRequest(resource, name, patch);
      const response = await unary(options, (call) => service.patch(request, call));
      const { warnings, created } = response;
      return { object: objectFrom<T>(response), warnings, created };
    },

    async whoAmI(options: CallOptions = {}) {
      return identityFrom(await unary(options, (call) => access.whoAmI({}, call)));
    },
  };
}
