import type { MessageInitShape } from "@bufbuild/protobuf";
import { encodeBody, type WriteBody } from "./body.js";
import type { CallOptions } from "./call.js";
import type { CreateRequestSchema } from "./gen/kubeconnect/v1/resource_service_pb.js";
import type { KubeObject, KubeValue } from "./object.js";
import { writeFields, type WriteOptions } from "./write.js";

/** How to create. */
export interface CreateOptions extends CallOptions, WriteOptions {
  /** Required for a namespaced resource, unless the object's metadata has it. */
  readonly namespace?: string | undefined;
  /**
   * The object that a subresource ("eviction", "binding", "token") is created of. An
   * object itself is named by its metadata.
   */
  readonly name?: string | undefined;
}

/** What was created. */
export interface CreateResult<T = KubeValue> {
  /**
   * The object as it was made; or as it would be, for a dry run. A subresource may answer
   * another kind: "eviction" a Status.
   */
  readonly object: KubeObject<T>;
  /** The API server's warnings, for people. */
  readonly warnings: readonly string[];
}

/** The message of a creation. */
export function createRequest(
  resource: string,
  object: WriteBody,
  { namespace = "", name = "", ...options }: CreateOptions,
): MessageInitShape<typeof CreateRequestSchema> {
  return { resource, namespace, name, body: encodeBody(object), ...writeFields(options) };
}
