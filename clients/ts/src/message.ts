import type { Client } from "@connectrpc/connect";
import { KubeconnectError } from "./error.js";
import type { Object$ as ObjectMessage } from "./gen/kubeconnect/v1/object_pb.js";
import type { ResourceService } from "./gen/kubeconnect/v1/resource_service_pb.js";
import { KubeObject, type ResourceKind } from "./object.js";

/** The generated client of ResourceService. */
export type ResourceServiceClient = Client<typeof ResourceService>;

/** The object of an answer that names its kind. */
export function objectFrom<T>(message: {
  readonly kind?: ResourceKind | undefined;
  readonly object?: ObjectMessage | undefined;
}): KubeObject<T> {
  return new KubeObject<T>(
    required(message.object, "an object"),
    required(message.kind, "the kind of its objects"),
  );
}

/** A message field that the API promises. */
export function required<T>(field: T | undefined, what: string): T {
  if (field === undefined) {
    throw KubeconnectError.internal(`the service answered without ${what}`);
  }
  return field;
}
