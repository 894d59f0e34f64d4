import type { MessageInitShape } from "@bufbuild/protobuf";
import { Encoding } from "./gen/kubeconnect/v1/object_pb.js";
import {
  PatchType as Type,
  type PatchRequestSchema,
} from "./gen/kubeconnect/v1/resource_service_pb.js";
import type { KubeObject, KubeValue } from "./object.js";

/**
 * How a patch is written: "json" is a list of operations (RFC 6902), "merge" an
 * object (RFC 7386: null deletes), "strategic" Kubernetes' own merge for
 * built-in kinds, "apply" the fields that the field manager wants to own.
 */
export type PatchType = "json" | "merge" | "strategic" | "apply";

/** A change to one object. */
export interface Patch {
  readonly type: PatchType;
  /** Anything that JSON.stringify takes, or JSON as text (YAML for "apply"). */
  readonly body: object | string;
  /** Such as "status" or "scale". Default: the object itself. */
  readonly subresource?: string | undefined;
  /** Check and admit the change without making it. */
  readonly dryRun?: boolean | undefined;
  /** In whose name the fields are owned; required for "apply". */
  readonly fieldManager?: string | undefined;
  /** For "apply": take fields over from the managers that own them. */
  readonly force?: boolean | undefined;
}

/** What became of a patch. */
export interface PatchResult<T = KubeValue> {
  /** The object as it is after the patch. */
  readonly object: KubeObject<T>;
  /** The API server's warnings, for people. */
  readonly warnings: readonly string[];
  /** Whether "apply" made the object. */
  readonly created: boolean;
}

/** The message of a patch. The body goes as bytes, so that numbers stay as written. */
export function patchRequest(
  resource: string,
  { namespace = "", name }: { namespace?: string | undefined; name: string },
  patch: Patch,
): MessageInitShape<typeof PatchRequestSchema> {
  const { body, subresource = "", dryRun = false, fieldManager = "", force = false } = patch;
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return {
    resource,
    namespace,
    name,
    subresource,
    type: types[patch.type],
    body: { case: "data", value: new TextEncoder().encode(text) },
    dryRun,
    fieldManager,
    force,
    encoding: Encoding.JSON,
  };
}

const types: Record<PatchType, Type> = {
  json: Type.JSON,
  merge: Type.MERGE,
  strategic: Type.STRATEGIC_MERGE,
  apply: Type.APPLY,
};
