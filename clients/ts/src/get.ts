import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ReadOptions } from "./call.js";
import { freshnessFrom, type Freshness } from "./freshness.js";
import { Encoding } from "./gen/kubeconnect/v1/object_pb.js";
import type { GetRequestSchema, GetResponse } from "./gen/kubeconnect/v1/read_pb.js";
import { required } from "./message.js";
import { KubeObject, type KubeValue, type ObjectName } from "./object.js";
import {
  consistencyField,
  objectFields,
  sourceFrom,
  type ConsistencyOptions,
  type FieldOptions,
  type Source,
} from "./read.js";

/** Options of a get. */
export interface GetOptions extends ReadOptions, ConsistencyOptions, FieldOptions {
  /**
   * The subresource, such as "status" or "scale", which is read from the API server. Default: the
   * object itself.
   */
  readonly subresource?: string | undefined;
}

/** The result of a get: the object, with where it was read and how current it is. */
export class GetResult<T = KubeValue> extends KubeObject<T> {
  readonly freshness: Freshness | undefined;
  readonly source: Source | undefined;

  /** @internal */
  constructor({ object, resource, freshness, source }: GetResponse) {
    super(required(object, "the object"), required(resource, "the resource of the object"));
    this.freshness = freshnessFrom(freshness);
    this.source = sourceFrom(source);
  }
}

/** Returns the request message of a get. */
export function getRequest(
  resource: string,
  { namespace = "", name }: ObjectName,
  { subresource = "", minResourceVersion = "", ...options }: GetOptions,
): MessageInitShape<typeof GetRequestSchema> {
  return {
    resource,
    namespace,
    name,
    subresource,
    minResourceVersion,
    encoding: Encoding.JSON,
    ...consistencyField(options),
    ...objectFields(options),
  };
}
