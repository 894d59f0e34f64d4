import { Encoding } from "./gen/kubeconnect/v1/object_pb.js";
import { FieldValidation as Validation } from "./gen/kubeconnect/v1/resource_service_pb.js";
import { valueOf } from "./word.js";

/**
 * What happens to fields that the kind does not have, or that stand twice: "ignore"
 * drops them in silence, "warn" drops them and names them in the warnings, "strict"
 * refuses the write with Code.InvalidArgument.
 */
export type FieldValidation = "ignore" | "warn" | "strict";

/** What creating, updating and patching take. */
export interface WriteOptions {
  /** Such as "status" or "scale". Default: the object itself. */
  readonly subresource?: string | undefined;
  /** Check and admit the change, and answer with its result, without making it. */
  readonly dryRun?: boolean | undefined;
  /**
   * In whose name the fields are owned, at most 128 characters. Default:
   * "kubeconnect"; required for a patch of type "apply".
   */
  readonly fieldManager?: string | undefined;
  /** Default: "warn". */
  readonly fieldValidation?: FieldValidation | undefined;
}

/**
 * What must hold for a write to happen. If it does not, the write fails with
 * Code.Aborted and nothing has changed. An object that was read has both.
 */
export interface Preconditions {
  /** The object must have this UID. Default: any. */
  readonly uid?: string | undefined;
  /** The object must have this resource version. Default: any. */
  readonly resourceVersion?: string | undefined;
}

/** The fields of a request for what creating, updating and patching take. */
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

/** The field of a request that has preconditions. */
export function preconditionsFrom({ uid = "", resourceVersion = "" }: Preconditions) {
  return { uid, resourceVersion };
}

const validations: Record<FieldValidation, Validation> = {
  ignore: Validation.IGNORE,
  warn: Validation.WARN,
  strict: Validation.STRICT,
};
