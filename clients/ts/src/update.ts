import type { MessageInitShape } from "@bufbuild/protobuf";
import { encodeBody, type WriteBody } from "./body.js";
import type { CallOptions } from "./call.js";
import type { UpdateRequestSchema } from "./gen/kubeconnect/v1/write_pb.js";
import type { KubeObject, KubeValue } from "./object.js";
import { preconditionsFrom, writeFields, type Preconditions, type WriteOptions } from "./write.js";

/** Options of an update. */
export interface UpdateOptions extends CallOptions, WriteOptions, Preconditions {
  /** Required for a namespaced resource, unless the object's metadata has it. */
  readonly namespace?: string | undefined;
  /** Required unless the object's metadata has it. */
  readonly name?: string | undefined;
}

/** The result of an update. */
export interface UpdateResult<T = KubeValue> {
  /** The object after the update, or as it would be for a dry run. */
  readonly object: KubeObject<T>;
  /** The API server's warnings, human-readable. */
  readonly warnings: readonly string[];
  /** Whether the update created the object, which some kinds allow. */
  readonly created: boolean;
}

/** Returns the request message of an update. */
export function updateRequest(
  resource: string,
  object: WriteBody,
  { namespace = "", name = "", ...options }: UpdateOptions,
): MessageInitShape<typeof UpdateRequestSchema> {
  return {
    resource,
    namespace,
    name,
    body: encodeBody(object),
    preconditions: preconditionsFrom(options),
    ...writeFields(options),
  };
}
