import { relationFrom, type Relation } from "./relation.js";

/** Which objects to read. What is left out selects everything; all that is given must hold. */
export interface Selection {
  /**
   * Default: all namespaces in which the caller may list the resource; the answer's
   * `namespaces` names them where these are not all. Refused for a resource without
   * namespaces.
   */
  readonly namespace?: string | undefined;
  /**
   * Fail with Code.PermissionDenied unless the caller may list the resource in all
   * namespaces; a watch also when that permission ends. Has no effect with `namespace`.
   */
  readonly requireAllNamespaces?: boolean | undefined;
  /** As kubectl writes it: "app=web,tier in (a,b),!canary". */
  readonly labelSelector?: string | undefined;
  /** As kubectl writes it: "status.phase=Running". */
  readonly fieldSelector?: string | undefined;
  /**
   * A CEL expression over `object` that must be true: "object.spec.replicas > 3". An object
   * for which it has no value does not match, even where the expression is negated: ask for
   * a field that may be missing with `has(object.status.conditions)` first.
   */
  readonly filter?: string | undefined;
  /** Only what has to do with another object. */
  readonly related?: Relation | undefined;
}

/** The fields of a request that selects. */
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
