import type { Object$ as ObjectMessage } from "./gen/kubeconnect/v1/object_pb.js";
import { joinedFrom, type JoinedObjects } from "./joined.js";
import { ObjectState } from "./objectstate.js";

/** A resource and its kind. */
export interface Resource {
  /** The API group; empty for the core group. */
  readonly group: string;
  /** The API version, such as "v1". */
  readonly version: string;
  /** The kind, such as "Deployment". */
  readonly kind: string;
  /** The plural name, such as "deployments". */
  readonly plural: string;
  /** Whether each object belongs to a namespace. */
  readonly namespaced: boolean;
}

/** The name of one object. */
export interface ObjectName {
  /** Required for a namespaced resource, rejected for a cluster-scoped one. */
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** The most used fields of metadata. */
export interface ObjectMeta {
  name: string;
  namespace?: string;
  uid: string;
  resourceVersion: string;
  /** RFC 3339. */
  creationTimestamp: string;
  /** RFC 3339; set while the object is being deleted. */
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

/** The type of objects for callers without a type of their own. */
export interface KubeValue {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  [field: string]: unknown;
}

/** One Kubernetes object, with its resource. */
export class KubeObject<T = KubeValue> extends ObjectState<T> {
  readonly resource: Resource;
  /** The related objects, by the names of the call's `joins`. */
  readonly joined: JoinedObjects;

  /** @internal */
  constructor(message: ObjectMessage, resource: Resource) {
    super(message);
    this.resource = resource;
    this.joined = joinedFrom(message.joined);
  }
}
