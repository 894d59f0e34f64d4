import type { MessageInitShape } from "@bufbuild/protobuf";
import { encodeBody, type WriteBody } from "./body.js";
import type { CallOptions } from "./call.js";
import { PatchType as Type, type PatchRequestSchema } from "./gen/kubeconnect/v1/write_pb.js";
import type { KubeObject, KubeValue, ObjectName } from "./object.js";
import { valueOf } from "./enum.js";
import { preconditionsFrom, writeFields, type Preconditions, type WriteOptions } from "./write.js";

/**
 * The format of a patch: "json" is a list of operations (RFC 6902), "merge" an object (RFC 7386:
 * null deletes), "strategic" Kubernetes' strategic merge for built-in kinds, "apply" the fields
 * that the field manager wants to own.
 */
export type PatchType = "json" | "merge" | "strategic" | "apply";

/** Options of a patch: the change, and how to make it. */
export interface PatchOptions extends CallOptions, WriteOptions, Preconditions {
  readonly type: PatchType;
  /** The patch in the format of the type; YAML only for "apply". */
  readonly body: WriteBody;
  /** For "apply": takes ownership of fields from other managers. */
  readonly force?: boolean | undefined;
}

/** The result of a patch. */
export interface PatchResult<T = KubeValue> {
  /** The object after the patch, or as it would be for a dry run. */
  readonly object: KubeObject<T>;
  /** The API server's warnings, human-readable. */
  readonly warnings: readonly string[];
  /** Whether "apply" created the object. */
  readonly created: boolean;
}

/** Returns the request message of a patch. */
export function patchRequest(
  resource: string,
  { namespace = "", name }: ObjectName,
  { type, body, force = false, ...options }: PatchOptions,
): MessageInitShape<typeof PatchRequestSchema> {
  return {
    resource,
    namespace,
    name,
    type: valueOf(types, type),
    body: encodeBody(body),
    force,
    preconditions: preconditionsFrom(options),
    ...writeFields(options),
  };
}

const types: Record<PatchType, Type> = {
  json: Type.JSON,
  merge: Type.MERGE,
  strategic: Type.STRATEGIC_MERGE,
  apply: Type.APPLY,
};
