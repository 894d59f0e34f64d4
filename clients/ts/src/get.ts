import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ReadOptions } from "./call.js";
import { freshnessFrom, type Freshness } from "./freshness.js";
import { Encoding } from "./gen/kubeconnect/v1/object_pb.js";
import type { GetRequestSchema, GetResponse } from "./gen/kubeconnect/v1/resource_service_pb.js";
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

/** How to get an object. */
export interface GetOptions extends ReadOptions, ConsistencyOptions, FieldOptions {
  /** Such as "status" or "scale", read from the API server. Default: the object itself. */
  readonly subresource?: string | undefined;
}

/** One object, and what is known of how it was read. */
export class GetResult<T = KubeValue> extends KubeObject<T> {
  readonly freshness: Freshness | undefined;
  readonly source: Source | undefined;

  constructor({ object, kind, freshness, source }: GetResponse) {
    super(required(object, "an object"), required(kind, "the kind of its objects"));
    this.freshness = freshnessFrom(freshness);
    this.source = sourceFrom(source);
  }
}

/** The message of a get. */
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
