import { relationFrom, type Relation } from "./relation.js";

/** Which objects to read. What is left out selects everything; all that is given must hold. */
export interface Selection {
  /** Default: all that the caller may see. Refused for a resource without namespaces. */
  readonly namespace?: string | undefined;
  /** As kubectl writes it: "app=web,tier in (a,b),!canary". */
  readonly labelSelector?: string | undefined;
  /** As kubectl writes it: "status.phase=Running". */
  readonly fieldSelector?: string | undefined;
  /**
   * A CEL expression over `object` that must be true: "object.spec.replicas > 3". An object
   * for which it has no value does not match.
   */
  readonly filter?: string | undefined;
  /** Only what has to do with another object. */
  readonly related?: Relation | undefined;
}

/** The fields of a request that selects. */
export function selectionFields({
  namespace = "",
  labelSelector = "",
  fieldSelector = "",
  filter = "",
  related,
}: Selection) {
  return {
    namespace,
    labelSelector,
    fieldSelector,
    filter,
    related: related && relationFrom(related),
  };
}
