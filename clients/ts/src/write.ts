import { Encoding } from "./gen/kubeconnect/v1/object_pb.js";
import { FieldValidation as Validation } from "./gen/kubeconnect/v1/write_pb.js";
import { valueOf } from "./enum.js";

/**
 * The handling of unknown and duplicate fields: "ignore" drops them silently, "warn" drops them
 * and names them in the warnings, "strict" rejects the write with Code.InvalidArgument.
 */
export type FieldValidation = "ignore" | "warn" | "strict";

/** Options of create, update and patch. */
export interface WriteOptions {
  /** The subresource, such as "status" or "scale". Default: the object itself. */
  readonly subresource?: string | undefined;
  /** Validates and admits the change, and returns its result, without persisting it. */
  readonly dryRun?: boolean | undefined;
  /**
   * The manager that owns the written fields, at most 128 characters. Default: "kubeconnect";
   * required for a patch of type "apply".
   */
  readonly fieldManager?: string | undefined;
  /** The handling of unknown and duplicate fields. Default: "warn". */
  readonly fieldValidation?: FieldValidation | undefined;
}

/**
 * The preconditions of a write. If one fails, the write fails with Code.Aborted and changes
 * nothing. Objects that were read have both values.
 */
export interface Preconditions {
  /** The object must have this UID. Default: any. */
  readonly uid?: string | undefined;
  /** The object must have this resource version. Default: any. */
  readonly resourceVersion?: string | undefined;
}

/** Returns the fields of WriteOptions in a request. */
export function writeFields({
  subresource = "",
  dryRun = false,
  fieldManager = "",
  fieldValidation = "warn",
}: WriteOptions) {
  return {
    subresource,
    dryRun,
    fieldManager,
    fieldValidation: valueOf(validations, fieldValidation),
    encoding: Encoding.JSON,
  };
}

/** Returns the preconditions field of a request. */
export function preconditionsFrom({ uid = "", resourceVersion = "" }: Preconditions) {
  return { uid, resourceVersion };
}

const validations: Record<FieldValidation, Validation> = {
  ignore: Validation.IGNORE,
  warn: Validation.WARN,
  strict: Validation.STRICT,
};
