import { RelationType as Type } from "./gen/kubeconnect/v1/relation_pb.js";
import type { ObjectName } from "./object.js";
import { valueOf } from "./enum.js";

/**
 * The type of a relation to another object: "ownedBy" selects the objects that it owns,
 * "selectedBy" the objects that match its own selector, such as the pods of a service, "about"
 * the events about it, "ownerOf" its owners.
 */
export type RelationType = "ownedBy" | "selectedBy" | "about" | "ownerOf";

/**
 * Selects objects by their relation to another object. The other object is read when the call
 * begins: the call fails with Code.NotFound if it does not exist, and with
 * Code.PermissionDenied if the caller is not allowed to get it.
 */
export interface Relation extends ObjectName {
  readonly type: RelationType;
  /** The other object's resource, named as in kubectl. */
  readonly resource: string;
  /** The UID that the other object must have. Default: any. */
  readonly uid?: string | undefined;
  /**
   * For "ownedBy": also selects objects that are owned indirectly, such as the pods of a
   * deployment, which its replica sets own. Not supported by watches: use "selectedBy" there.
   */
  readonly transitive?: boolean | undefined;
}

/** Returns the relation field of a request. */
export function relationFrom({
  type,
  resource,
  namespace = "",
  name,
  uid = "",
  transitive = false,
}: Relation) {
  return { type: valueOf(types, type), resource, namespace, name, uid, transitive };
}

const types: Record<RelationType, Type> = {
  ownedBy: Type.OWNED_BY,
  selectedBy: Type.SELECTED_BY,
  about: Type.ABOUT,
  ownerOf: Type.OWNER_OF,
};
