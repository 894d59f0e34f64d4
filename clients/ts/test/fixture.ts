import type { MessageInitShape } from "@bufbuild/protobuf";
import type { ObjectSchema } from "../src/gen/kubeconnect/v1/object_pb.js";

export const podKind = {
  group: "",
  version: "v1",
  kind: "Pod",
  resource: "pods",
  namespaced: true,
  protobufType: "k8s.io.api.core.v1.Pod",
};

/** A pod as the service sends it. */
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
