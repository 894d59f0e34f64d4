import { relationFrom, type Relation } from "./relation.js";

/** The objects to read. An object must match all fields. Omitted fields match everything. */
export interface Selection {
  /**
   * Default: all namespaces in which the caller is allowed to list the resource. If these are not
   * all, the response lists them in `namespaces`. Rejected for a resource without namespaces.
   */
  readonly namespace?: string | undefined;
  /**
   * Fails with Code.PermissionDenied unless the caller is allowed to list the resource in all
   * namespaces. A watch also fails when that permission is revoked. Has no effect with
   * `namespace`.
   */
  readonly requireAllNamespaces?: boolean | undefined;
  /** A label selector in kubectl's notation: "app=web,tier in (a,b),!canary". */
  readonly labelSelector?: string | undefined;
  /** A field selector in kubectl's notation: "status.phase=Running". */
  readonly fieldSelector?: string | undefined;
  /**
   * A CEL expression over `object` that must be true: "object.spec.replicas > 3". An object
   * for which it has no value matches neither the expression nor its negation: test for a field
   * that may be missing with `has(object.status.conditions)` first.
   */
  readonly filter?: string | undefined;
  /** Selects only objects with this relation to another object. */
  readonly related?: Relation | undefined;
}

/** Returns the selection fields of a request. */
export function selectionFields({
  namespace = "",
  requireAllNamespaces = false,
  labelSelector = "",
  fieldSelector = "",
  filter = "",
  related,
}: Selection) {
  return {
    namespace,
    requireAllNamespaces,
    labelSelector,
    fieldSelector,
    filter,
    related: related && relationFrom(related),
  };
}
