import { KubeconnectError } from "./error.js";
import type { Object$ as ObjectMessage } from "./gen/kubeconnect/v1/object_pb.js";

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

/** Returns the key of an object within its resource. */
export function keyOf(object: Pick<ObjectHead, "namespace" | "name">): string {
  return `${object.namespace}/${object.name}`;
}

/** Returns whether objects of one name may be the same: not if both UIDs are known, and differ. */
export function mayBeSame(a: Pick<ObjectHead, "uid">, b: Pick<ObjectHead, "uid">): boolean {
  return a.uid === b.uid || a.uid === "" || b.uid === "";
}

/**
 * One state of one object. The fields of ObjectHead are available without decoding. The content is
 * decoded on first access of `value`.
 */
export class ObjectState<T> implements ObjectHead {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly resourceVersion: string;
  #content: ObjectMessage["content"] | { case: "value"; value: T };

  /** @internal */
  constructor(message: ObjectMessage) {
    this.namespace = message.namespace;
    this.name = message.name;
    this.uid = message.uid;
    this.resourceVersion = message.resourceVersion;
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
