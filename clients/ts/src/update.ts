import type { MessageInitShape } from "@bufbuild/protobuf";
import { encodeBody, type WriteBody } from "./body.js";
import type { CallOptions } from "./call.js";
import type { UpdateRequestSchema } from "./gen/kubeconnect/v1/resource_service_pb.js";
import type { KubeObject, KubeValue } from "./object.js";
import { preconditionsFrom, writeFields, type Preconditions, type WriteOptions } from "./write.js";

/** How to update. */
export interface UpdateOptions extends CallOptions, WriteOptions, Preconditions {
  /** Required for a namespaced resource, unless the object's metadata has it. */
  readonly namespace?: string | undefined;
  /** Required unless the object's metadata has it. */
  readonly name?: string | undefined;
}

/** What became of an update. */
export interface UpdateResult<T = KubeValue> {
  /** The object as it is after the update; or as it would be, for a dry run. */
  readonly object: KubeObject<T>;
  /** The API server's warnings, for people. */
  readonly warnings: readonly string[];
  /** Whether the update made the object, where its kind allows that. */
  readonly created: boolean;
}

/** The message of an update. */
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
