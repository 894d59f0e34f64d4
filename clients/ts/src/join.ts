import { valueOf } from "./enum.js";
import { JoinType as Type } from "./gen/kubeconnect/v1/join_pb.js";
import { paths } from "./read.js";

/**
 * How the related objects relate to an object: "namedBy" are the objects that it names at `path`,
 * such as the node of a pod; "names" the objects that name it at `path`, such as the pods of a
 * claim; "ownerOf" its nearest owner of the resource, such as the deployment of a pod; "selectedBy"
 * the objects that match its own selector, such as the pods of a deployment; "subjectOf" the object
 * that an event is about.
 */
export type JoinType = "namedBy" | "names" | "ownerOf" | "selectedBy" | "subjectOf";

/**
 * Adds the related objects of another resource to each object. They are read with the caller's
 * permissions, from the cache.
 */
export interface Join {
  readonly type: JoinType;
  /** The resource of the related objects, named as in kubectl. */
  readonly resource: string;
  /** The path of the names, such as "spec.nodeName". Required for "namedBy" and "names" only. */
  readonly path?: string | undefined;
  /**
   * The paths to return of the related objects, as in FieldOptions. Default: none, so that the
   * objects are only counted.
   */
  readonly fields?: readonly string[] | undefined;
  /** A CEL expression that must be true for a related object, as in Selection. */
  readonly filter?: string | undefined;
  /** The maximum number of related objects to return; all are counted. Default: 10; at most 100. */
  readonly limit?: number | undefined;
}

/** Joins, by names that the caller chooses. */
export type Joins = Readonly<Record<string, Join>>;

/** Options of reads that support joins. */
export interface JoinOptions {
  /** Up to 8 joins. The related objects are in `joined` of each object, by the same names. */
  readonly joins?: Joins | undefined;
}

/** Returns the joins of a request. */
export function joinFields({ joins = {} }: JoinOptions) {
  return {
    joins: Object.entries(joins).map(
      ([name, { type, resource, path = "", fields = [], filter = "", limit = 0 }]) => ({
        name,
        type: valueOf(types, type),
        resource,
        path,
        fields: paths(fields),
        filter,
        limit,
      }),
    ),
  };
}

const types: Record<JoinType, Type> = {
  namedBy: Type.NAMED_BY,
  names: Type.NAMES,
  ownerOf: Type.OWNER_OF,
  selectedBy: Type.SELECTED_BY,
  subjectOf: Type.SUBJECT_OF,
};
