import { KubeconnectError } from "./error.js";
import type {
  Object$ as ObjectMessage,
  Resource as ResourceMessage,
} from "./gen/kubeconnect/v1/object_pb.js";

/** A resource and its kind. */
export type Resource = Readonly<
  Pick<ResourceMessage, "group" | "version" | "kind" | "plural" | "namespaced">
>;

/** The name of one object. */
export interface ObjectName {
  /** Required for a namespaced resource, rejected for a cluster-scoped one. */
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** The fields that identify one state of one object. */
export interface ObjectHead {
  /** Empty for a cluster-scoped object. */
  readonly namespace: string;
  readonly name: string;
  /** Distinguishes an object from a later object with the same name. */
  readonly uid: string;
  /** Opaque; equal for equal states of one object. */
  readonly resourceVersion: string;
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

/** Returns the key of an object within its resource. */
export function keyOf(object: Pick<ObjectHead, "namespace" | "name">): string {
  return `${object.namespace}/${object.name}`;
}

/**
 * One Kubernetes object. The fields of ObjectHead are available without decoding. The content is
 * decoded on first access of `value`.
 */
export class KubeObject<T = KubeValue> implements ObjectHead {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly resource: Resource;
  #content: ObjectMessage["content"] | { case: "value"; value: T };

  constructor(message: ObjectMessage, resource: Resource) {
    this.namespace = message.namespace;
    this.name = message.name;
    this.uid = message.uid;
    this.resourceVersion = message.resourceVersion;
    this.resource = resource;
    this.#content = message.content;
  }

  /** `namespace/name`; `/name` for a cluster-scoped object. */
  get key(): string {
    return keyOf(this);
  }

  /**
   * The complete object as Kubernetes JSON. Treat it as read-only, because all readers share it.
   *
   * @throws KubeconnectError if the service could not read the object, or reported its deletion
   * without its content (see WatchEvent).
   */
  get value(): T {
    if (this.#content.case !== "value") {
      this.#content = { case: "value", value: decode(this.#content) as T };
    }
    return this.#content.value;
  }

  /** Returns the complete object for JSON.stringify. */
  toJSON(): T {
    return this.value;
  }
}

function decode(content: ObjectMessage["content"]): unknown {
  switch (content.case) {
    case "json":
      return JSON.parse(utf8.decode(content.value));
    case "struct":
      return content.value;
    case undefined:
      throw KubeconnectError.internal("the object was sent without content");
    case "error":
      throw KubeconnectError.fromStatus(content.value);
    default:
      throw KubeconnectError.internal(`the object has no JSON content (${content.case})`);
  }
}

const utf8 = new TextDecoder();
