import type { MessageInitShape } from "@bufbuild/protobuf";
import { encodeBody, type WriteBody } from "./body.js";
import type { CallOptions } from "./call.js";
import type { CreateRequestSchema } from "./gen/kubeconnect/v1/write_pb.js";
import type { KubeObject, KubeValue } from "./object.js";
import { writeFields, type WriteOptions } from "./write.js";

/** Options of a create. */
export interface CreateOptions extends CallOptions, WriteOptions {
  /** Required for a namespaced resource, unless the object's metadata has it. */
  readonly namespace?: string | undefined;
  /**
   * The object for which a subresource ("eviction", "binding", "token") is created. The name of
   * an object itself is taken from its metadata.
   */
  readonly name?: string | undefined;
}

/** The result of a create. */
export interface CreateResult<T = KubeValue> {
  /**
   * The object as created, or as it would be for a dry run. A subresource may return another
   * kind: "eviction" returns a Status.
   */
  readonly object: KubeObject<T>;
  /** The API server's warnings, human-readable. */
  readonly warnings: readonly string[];
}

/** Returns the request message of a create. */
export function createRequest(
  resource: string,
  object: WriteBody,
  { namespace = "", name = "", ...options }: CreateOptions,
): MessageInitShape<typeof CreateRequestSchema> {
  return { resource, namespace, name, body: encodeBody(object), ...writeFields(options) };
}
