import type { MessageInitShape } from "@bufbuild/protobuf";
import { createRouterTransport, type ServiceImpl, type Transport } from "@connectrpc/connect";
import { createClient, KubeconnectError, type Client } from "../src/index.js";
import {
  AccessService,
  DiscoveryService,
  PodService,
  ResourceService,
  type ObjectSchema,
} from "../src/proto.js";

/** Creates a client of services with these methods. All other methods are unimplemented. */
export function clientOf(
  resources: Partial<ServiceImpl<typeof ResourceService>>,
  discovery: Partial<ServiceImpl<typeof DiscoveryService>> = {},
): Client {
  return createClient(
    createRouterTransport(({ service: serve }) => {
      serve(ResourceService, resources);
      serve(DiscoveryService, discovery);
    }),
  );
}

/** Creates a client of an access service with these methods. */
export function accessClientOf(access: Partial<ServiceImpl<typeof AccessService>>): Client {
  return createClient(
    createRouterTransport(({ service: serve }) => {
      serve(AccessService, access);
    }),
  );
}

/**
 * Returns what a watch that does not reconnect yields until the service ends its stream, as seen
 * at the time.
 */
export async function untilEnd<T, R = T>(
  stream: AsyncIterable<T>,
  see: (item: T) => R = (item) => item as unknown as R,
): Promise<R[]> {
  const seen: R[] = [];
  try {
    for await (const item of stream) seen.push(see(item));
  } catch (error) {
    const isEnd = error instanceof KubeconnectError && error.message === ended;
    if (!isEnd) throw error;
  }
  return seen;
}

const ended = "the service ended the stream";

/** Creates a transport to a pod service with these methods. */
export function podsTransport(pods: Partial<ServiceImpl<typeof PodService>>): Transport {
  return createRouterTransport(({ service: serve }) => {
    serve(PodService, pods);
  });
}

export const podResource = {
  group: "",
  version: "v1",
  kind: "Pod",
  plural: "pods",
  namespaced: true,
  protobufType: "k8s.io.api.core.v1.Pod",
};

/** Returns a pod in the format of the service. */
export function pod(
  name: string,
  resourceVersion = "1",
  uid = `uid-${name}`,
): MessageInitShape<typeof ObjectSchema> {
  const value = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace: "default", name, uid, resourceVersion, labels: { app: name } },
  };
  return {
    namespace: "default",
    name,
    uid,
    resourceVersion,
    content: { case: "json", value: new TextEncoder().encode(JSON.stringify(value)) },
  };
}
