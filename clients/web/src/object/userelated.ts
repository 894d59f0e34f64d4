import type { KubeObject, KubeValue } from "@kubeconnect/client";
import { useLivePage, useResource, type UseLivePageOptions } from "@kubeconnect/client/react";
import { celString } from "../model/cel.js";
import type { PodValue } from "../model/summary/pod.js";
import type { EventValue, Related } from "../model/summary/types.js";
import { targetOf } from "../model/target.js";

const workloads = new Set([
  "deployments.apps",
  "statefulsets.apps",
  "daemonsets.apps",
  "replicasets.apps",
]);

/** Reads what a summary needs of other objects, live. What the caller may not read is left out. */
export function useRelated(object: KubeObject): Related {
  const { resource } = targetOf(object);
  return {
    warnings: useWarnings(object),
    node: useNode(resource, object),
    claims: useClaims(resource, object),
    replicaSets: useReplicaSets(resource, object),
    failingPods: useFailingPods(resource, object),
    endpointSlices: useEndpointSlices(resource, object),
  };
}

/** Follows a page, without a resource nothing; undefined until it is loaded. */
function useValues(
  resource: string | undefined,
  options: UseLivePageOptions,
): readonly KubeValue[] | undefined {
  const { items, loaded, error } = useLivePage(resource, options);
  return loaded && !error ? items.map(({ value }) => value) : undefined;
}

function useWarnings({
  resource,
  name,
  namespace,
  uid,
}: KubeObject): readonly EventValue[] | undefined {
  // The kubelet reports events about a node with the node's name as its UID.
  const about =
    resource.plural === "nodes" && !resource.group
      ? `involvedObject.kind=Node,involvedObject.name=${name}`
      : `involvedObject.uid=${uid}`;
  return useValues("events", {
    ...(namespace && { namespace }),
    fieldSelector: `${about},type=Warning`,
    orderBy: "lastTimestamp desc",
    limit: 10,
  });
}

function useNode(resource: string, { value }: KubeObject): KubeValue | undefined {
  const nodeName = resource === "pods" ? (value as PodValue).spec?.nodeName : undefined;
  const fields = ["status.conditions", "spec.unschedulable"];
  const { object } = useResource(nodeName ? "nodes" : null, { name: nodeName ?? "", fields });
  return object?.value;
}

function useClaims(resource: string, { value, namespace }: KubeObject) {
  const volumes = resource === "pods" ? ((value as PodValue).spec?.volumes ?? []) : [];
  const names = volumes.flatMap((each) => each.persistentVolumeClaim?.claimName ?? []);
  return useValues(names.length > 0 ? "persistentvolumeclaims" : undefined, {
    namespace,
    filter: `object.metadata.name in [${names.map(celString).join()}]`,
    fields: ["metadata.name", "status.phase"],
  });
}

function useReplicaSets(resource: string, object: KubeObject) {
  const isDeployment = resource === "deployments.apps";
  return useValues(isDeployment ? "replicasets.apps" : undefined, {
    namespace: object.namespace,
    related: { type: "ownedBy", ...targetOf(object) },
    fields: ["metadata.name", "metadata.namespace", "status.conditions"],
    limit: 20,
  });
}

const isNotReady = `object.status.phase != 'Succeeded' && (!has(object.status.conditions) ||
  !object.status.conditions.exists(c, c.type == 'Ready' && c.status == 'True'))`;

function useFailingPods(resource: string, object: KubeObject) {
  return useValues(workloads.has(resource) ? "pods" : undefined, {
    namespace: object.namespace,
    related: { type: "selectedBy", ...targetOf(object) },
    filter: isNotReady,
    limit: 10,
  });
}

function useEndpointSlices(resource: string, { namespace, name }: KubeObject) {
  return useValues(resource === "services" ? "endpointslices.discovery.k8s.io" : undefined, {
    namespace,
    labelSelector: `kubernetes.io/service-name=${name}`,
    fields: ["endpoints[*].conditions"],
    limit: 100,
  });
}
