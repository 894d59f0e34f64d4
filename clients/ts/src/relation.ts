import { RelationType as Type } from "./gen/kubeconnect/v1/resource_service_pb.js";
import type { ObjectName } from "./object.js";
import { valueOf } from "./word.js";

/**
 * What objects have to do with another one: "ownedBy" selects what it owns; "selectedBy"
 * what its own selector selects, such as the pods of a service; "about" the events about it;
 * "ownerOf" what owns it.
 */
export type RelationType = "ownedBy" | "selectedBy" | "about" | "ownerOf";

/**
 * Selects objects by what they have to do with another one. That is looked up when the call
 * begins: Code.NotFound if it is not there, Code.PermissionDenied if you may not get it.
 */
export interface Relation extends ObjectName {
  readonly type: RelationType;
  /** The other object's resource, as kubectl names it. */
  readonly resource: string;
  /** The UID that the other object must have. Default: any. */
  readonly uid?: string | undefined;
  /**
   * For "ownedBy": over any number of owners, such as the pods of a deployment, which its
   * replica sets own. Not in a watch: there "selectedBy" selects these.
   */
  readonly transitive?: boolean | undefined;
}

/** The field of a request that has a relation. */
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
