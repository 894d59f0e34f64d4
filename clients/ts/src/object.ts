import { KubeconnectError } from "./error.js";
import type {
  Object$ as ObjectMessage,
  ResourceKind as Kind,
} from "./gen/kubeconnect/v1/object_pb.js";

/** What an object is: group, version, kind and resource name. */
export type ResourceKind = Readonly<
  Pick<Kind, "group" | "version" | "kind" | "resource" | "namespaced">
>;

/** The name of one object. */
export interface ObjectName {
  /** Required for a namespaced resource, refused for another. */
  readonly namespace?: string | undefined;
  readonly name: string;
}

/** What identifies one state of one object. */
export interface ObjectHead {
  /** Empty for a cluster-scoped object. */
  readonly namespace: string;
  readonly name: string;
  /** Tells an object from a later one under the same name. */
  readonly uid: string;
  /** Opaque; equal for equal states of one object. */
  readonly resourceVersion: string;
}

/** The parts of metadata that programs ask for most. */
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

/** Any object, for callers that bring no type of their own. */
export interface KubeValue {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  [field: string]: unknown;
}

/** The key of an object within its resource. */
export function keyOf(object: Pick<ObjectHead, "namespace" | "name">): string {
  return `${object.namespace}/${object.name}`;
}

/**
 * One Kubernetes object. The head is at hand; the content is decoded when
 * `value` is first read.
 */
export class KubeObject<T = KubeValue> implements ObjectHead {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  readonly kind: ResourceKind;
  #content: ObjectMessage["content"] | { case: "value"; value: T };

  constructor(message: ObjectMessage, kind: ResourceKind) {
    this.namespace = message.namespace;
    this.name = message.name;
    this.uid = message.uid;
    this.resourceVersion = message.resourceVersion;
    this.kind = kind;
    this.#content = message.content;
  }

  /** `namespace/name`; `/name` for a cluster-scoped object. */
  get key(): string {
    return keyOf(this);
  }

  /**
   * The whole object as Kubernetes writes it in JSON. Treat it as read-only: it
   * is shared by all who read it.
   *
   * @throws KubeconnectError where the service could not read the object, or told
   * only that it is gone (see WatchEvent).
   */
  get value(): T {
    if (this.#content.case !== "value") {
      this.#content = { case: "value", value: decode(this.#content) as T };
    }
    return this.#content.value;
  }

  /** For JSON.stringify: the whole object, not its head. */
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
      throw KubeconnectError.internal("the object was sent without its content");
    case "error":
      throw KubeconnectError.fromStatus(content.value);
    default:
      throw KubeconnectError.internal(`the object has no JSON content (${content.case})`);
  }
}

const utf8 = new TextDecoder();
