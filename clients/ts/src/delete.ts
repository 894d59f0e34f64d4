import type { MessageInitShape } from "@bufbuild/protobuf";
import type { CallOptions } from "./call.js";
import { Encoding } from "./gen/kubeconnect/v1/object_pb.js";
import {
  PropagationPolicy as Policy,
  type DeleteCollectionRequestSchema,
  type DeleteRequestSchema,
} from "./gen/kubeconnect/v1/write_pb.js";
import type { KubeObject, KubeValue, ObjectName } from "./object.js";
import { valueOf } from "./enum.js";
import { preconditionsFrom, type Preconditions } from "./write.js";

/**
 * The handling of the objects that a deleted object owns: "orphan" keeps them without the owner,
 * "background" deletes them after their owner, "foreground" before their owner.
 */
export type PropagationPolicy = "orphan" | "background" | "foreground";

/** Options of delete and deleteCollection. */
export interface DeletionOptions extends CallOptions {
  /** Default: the kind's own, usually "background". */
  readonly propagationPolicy?: PropagationPolicy | undefined;
  /**
   * The time that an object has to shut down, in whole seconds; 0 for none. Default: the kind's
   * own, 30 for pods.
   */
  readonly gracePeriodSeconds?: number | undefined;
  /** Validates and admits the deletion without persisting it. */
  readonly dryRun?: boolean | undefined;
}

/** Options of a delete. */
export interface DeleteOptions extends DeletionOptions, Preconditions {}

/** The result of a delete. */
export interface DeleteResult<T = KubeValue> {
  /**
   * The object, if it still exists (a finalizer, a grace period) or if the API server returns
   * its last state; undefined if the API server reports only success.
   */
  readonly object: KubeObject<T> | undefined;
  /**
   * A version at which the deletion, or its beginning, is visible: a read with this version as
   * `minResourceVersion` sees the object deleted, or with its deletionTimestamp. Empty for
   * a dry run, and if versions of the resource cannot be compared.
   */
  readonly resourceVersion: string;
  /** The API server's warnings, human-readable. */
  readonly warnings: readonly string[];
}

/** Options of a deleteCollection: the objects to delete. An object must match all selectors. */
export interface DeleteCollectionOptions extends DeletionOptions {
  /** Required for a namespaced resource, rejected for a cluster-scoped one. */
  readonly namespace?: string | undefined;
  /** A label selector in kubectl's notation: "app=web,tier in (a,b),!canary". */
  readonly labelSelector?: string | undefined;
  /** A field selector in kubectl's notation: "status.phase=Failed". */
  readonly fieldSelector?: string | undefined;
}

/** The result of a deleteCollection. */
export interface DeleteCollectionResult {
  /** The number of objects that were deleted, or are being deleted. */
  readonly deletedCount: number;
  /** A version at which all deletions are visible, as in DeleteResult. */
  readonly resourceVersion: string;
  /** The API server's warnings, human-readable. */
  readonly warnings: readonly string[];
}

/** Returns the request message of a delete. */
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

/** Returns the request message of a deleteCollection. */
export function deleteCollectionRequest(
  resource: string,
  { namespace = "", labelSelector = "", fieldSelector = "", ...options }: DeleteCollectionOptions,
): MessageInitShape<typeof DeleteCollectionRequestSchema> {
  return { resource, namespace, labelSelector, fieldSelector, ...deletionFields(options) };
}

function deletionFields({
  propagationPolicy,
  gracePeriodSeconds,
  dryRun = false,
}: DeletionOptions) {
  return {
    propagationPolicy:
      propagationPolicy === undefined ? Policy.UNSPECIFIED : valueOf(policies, propagationPolicy),
    gracePeriodSeconds: gracePeriodSeconds === undefined ? undefined : BigInt(gracePeriodSeconds),
    dryRun,
  };
}

const policies: Record<PropagationPolicy, Policy> = {
  orphan: Policy.ORPHAN,
  background: Policy.BACKGROUND,
  foreground: Policy.FOREGROUND,
};
