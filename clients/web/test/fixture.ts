import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { KubeObject } from "@kubeconnect/client";
import { ObjectSchema } from "@kubeconnect/client/proto";
import type { Pod } from "../src/pod.js";
import { podRow, type PodRow } from "../src/row.js";

export const podResource = {
  group: "",
  version: "v1",
  kind: "Pod",
  plural: "pods",
  namespaced: true,
};

/** Returns a pod in the format of the service. The UID defaults to the name. */
export function message(
  namespace: string,
  name: string,
  pod: Partial<Pod> = {},
  uid = name,
): MessageInitShape<typeof ObjectSchema> {
  const value = new TextEncoder().encode(JSON.stringify({ metadata: {}, ...pod }));
  return { namespace, name, uid, resourceVersion: "1", content: { case: "json", value } };
}

export function row(namespace: string, name: string, pod?: Partial<Pod>, uid?: string): PodRow {
  const object = create(ObjectSchema, message(namespace, name, pod, uid));
  return podRow(new KubeObject<Pod>(object, podResource));
}
