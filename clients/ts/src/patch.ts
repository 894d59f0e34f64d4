import type { MessageInitShape } from "@bufbuild/protobuf";
import { encodeBody, type WriteBody } from "./body.js";
import {
  PatchType as Type,
  type PatchRequestSchema,
} from "./gen/kubeconnect/v1/resource_service_pb.js";
import type { KubeObject, KubeValue, ObjectName } from "./object.js";
import { valueOf } from "./word.js";
import { preconditionsFrom, writeFields, type Preconditions, type WriteOptions } from "./write.js";

/**
 * How a patch is written: "json" is a list of operations (RFC 6902), "merge" an
 * object (RFC 7386: null deletes), "strategic" Kubernetes' own merge for
 * built-in kinds, "apply" the fields that the field manager wants to own.
 */
export type PatchType = "json" | "merge" | "strategic" | "apply";

/** A change to one object. */
export interface Patch extends WriteOptions, Preconditions {
  readonly type: PatchType;
  /** As the type says; YAML only for "apply". */
  readonly body: WriteBody;
  /** For "apply": take fields over from the managers that own them. */
  readonly force?: boolean | undefined;
}

/** What became of a patch. */
export interface PatchResult<T = KubeValue> {
  /** The object as it is after the patch; or as it would be, for a dry run. */
  readonly object: KubeObject<T>;
  /** The API server's warnings, for people. */
  readonly warnings: readonly string[];
  /** Whether "apply" made the object. */
  readonly created: boolean;
}

/** The message of a patch. */
export function patchRequest(
  resource: string,
  { namespace = "", name }: ObjectName,
  { type, body, force = false, ...options }: Patch,
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
