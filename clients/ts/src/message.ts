import type { Client } from "@connectrpc/connect";
import { KubeconnectError } from "./error.js";
import type { Object$ as ObjectMessage } from "./gen/kubeconnect/v1/object_pb.js";
import type { ResourceService } from "./gen/kubeconnect/v1/resource_service_pb.js";
import { KubeObject, type Resource } from "./object.js";

/** The generated client of ResourceService. */
export type ResourceServiceClient = Client<typeof ResourceService>;

/** Returns the object of a response that has its resource. */
export function objectFrom<T>(message: {
  readonly resource?: Resource | undefined;
  readonly object?: ObjectMessage | undefined;
}): KubeObject<T> {
  return new KubeObject<T>(
    required(message.object, "the object"),
    required(message.resource, "the resource of the object"),
  );
}

/** Returns a message field that the service must set. Throws if it is missing. */
export function required<T>(field: T | undefined, description: string): T {
  if (field === undefined) {
    throw KubeconnectError.internal(`invalid response: ${description} is missing`);
  }
  return field;
}
