import type { MessageInitShape } from "@bufbuild/protobuf";
import type { CallOptions } from "./call.js";
import { Encoding } from "./gen/kubeconnect/v1/object_pb.js";
import {
  PropagationPolicy as Policy,
  type DeleteCollectionRequestSchema,
  type DeleteRequestSchema,
} from "./gen/kubeconnect/v1/resource_service_pb.js";
import type { KubeObject, KubeValue, ObjectName } from "./object.js";
import { valueOf } from "./word.js";
import { preconditionsFrom, type Preconditions } from "./write.js";

/**
 * What becomes of the objects that the deleted one owns: "orphan" leaves them without
 * an owner, "background" deletes them after it, "foreground" before it.
 */
export type PropagationPolicy = "orphan" | "background" | "foreground";

/** How to delete a collection. */
export interface DeleteCollectionOptions extends CallOptions {
  /** Default: the kind's own, usually "background". */
  readonly propagation?: PropagationPolicy | undefined;
  /**
   * How many seconds, a whole number, an object has to end itself; 0: none. Default:
   * the kind's own, 30 for pods.
   */
  readonly gracePeriodSeconds?: number | undefined;
  /** Check and admit the deletion without doing it. */
  readonly dryRun?: boolean | undefined;
}

/** How to delete one object. */
export interface DeleteOptions extends DeleteCollectionOptions, Preconditions {}

/** What is left of a deleted object. */
export interface DeleteResult<T = KubeValue> {
  /**
   * The object, where it is still there (a finalizer, a grace period) or the API server
   * answers with its last state; undefined where that says only that all went well.
   */
  readonly object: KubeObject<T> | undefined;
  /**
   * A version at which the deletion, or the beginning of it, is visible: a read with it as
   * `minResourceVersion` sees the object deleted, or with its deletionTimestamp. Empty for
   * a dry run, and for a resource without comparable versions.
   */
  readonly resourceVersion: string;
  /** The API server's warnings, for people. */
  readonly warnings: readonly string[];
}

/** Which objects to delete. What is left out selects everything. */
export interface DeleteSelection {
  /** Required for a namespaced resource, refused for another. */
  readonly namespace?: string | undefined;
  /** As kubectl writes it: "app=web,tier in (a,b),!canary". */
  readonly labelSelector?: string | undefined;
  /** As kubectl writes it: "status.phase=Failed". */
  readonly fieldSelector?: string | undefined;
}

/** What became of a selection. */
export interface DeleteCollectionResult {
  /** How many objects were deleted, or have begun to end. */
  readonly deleted: number;
  /** As in DeleteResult, for all the deletions. */
  readonly resourceVersion: string;
  /** The API server's warnings, for people. */
  readonly warnings: readonly string[];
}

/** The message of a deletion. */
export function deleteRequest(
  resource: string,
  { namespace = "", name }: ObjectName,
  options: DeleteOptions,
): MessageInitShape<typeof DeleteRequestSchema> {
  return {
    resource,
    namespace,
    name,
    preconditions: preconditionsFrom(options),
    encoding: Encoding.JSON,
    ...deletionFields(options),
  };
}

/** The message of a deletion of all that match. */
export function deleteCollectionRequest(
  resource: string,
  { namespace = "", labelSelector = "", fieldSelector = "" }: DeleteSelection,
  options: DeleteCollectionOptions,
): MessageInitShape<typeof DeleteCollectionRequestSchema> {
  return { resource, namespace, labelSelector, fieldSelector, ...deletionFields(options) };
}

function deletionFields({
  propagation,
  gracePeriodSeconds,
  dryRun = false,
}: DeleteCollectionOptions) {
  return {
    propagationPolicy:
      propagation === undefined ? Policy.UNSPECIFIED : valueOf(policies, propagation),
    gracePeriodSeconds: gracePeriodSeconds === undefined ? undefined : BigInt(gracePeriodSeconds),
    dryRun,
  };
}

const policies: Record<PropagationPolicy, Policy> = {
  orphan: Policy.ORPHAN,
  background: Policy.BACKGROUND,
  foreground: Policy.FOREGROUND,
};
