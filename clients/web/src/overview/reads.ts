import { sum } from "@kubeconnect/client";
import { useCount, useLivePage } from "@kubeconnect/client/react";
import { useNamespace } from "../session/namespace.js";
import { nodeProblems, type NodeFields } from "./nodes.js";
import { eventFields, withoutLastTimestamp, type EventFields } from "./warnings.js";
import {
  workloadFields,
  workloadKinds,
  type NewFields,
  type WorkloadFields,
  type WorkloadKind,
} from "./workloads.js";

/** The maximum number of objects of each list. */
const limit = 10;

/** Returns the namespace of the page as a part of options. */
function useScope(): { readonly namespace?: string } {
  const namespace = useNamespace();
  return namespace ? { namespace } : {};
}

/** Workloads that do not run as they should, by kind. */
export function useTroubledWorkloads() {
  const { deployments, statefulSets, daemonSets, jobs } = workloadKinds;
  return [
    useTroubled(deployments),
    useTroubled(statefulSets),
    useTroubled(daemonSets),
    useTroubled(jobs),
  ];
}

function useTroubled({ resource, filter }: WorkloadKind) {
  const options = { ...useScope(), filter, fields: workloadFields, limit };
  return useLivePage<WorkloadFields>(resource, options);
}

/** Numbers of pods by phase, and by the reasons why they do not run. */
export function usePods() {
  const scope = useScope();
  return {
    phases: useCount("pods", { ...scope, groupBy: ["status.phase"] }),
    waiting: useCount("pods", {
      ...scope,
      groupBy: ["status.containerStatuses[*].state.waiting.reason"],
    }),
    failed: useCount("pods", { ...scope, groupBy: ["status.reason"] }),
    conditions: useCount("pods", {
      ...scope,
      fieldSelector: "status.phase=Pending",
      groupBy: ["status.conditions[*].reason"],
    }),
  };
}

const requested = [
  sum("spec.containers[*].resources.requests.cpu"),
  sum("spec.containers[*].resources.requests.memory"),
];

const allocatable = [sum("status.allocatable.cpu"), sum("status.allocatable.memory")];

/** Pods that have ended request nothing any more. */
const active = "status.phase!=Succeeded,status.phase!=Failed";

/** What nodes have, what pods request of them, and nodes with a problem. Of all namespaces. */
export function useNodes() {
  return {
    nodes: useCount("nodes", { groupBy: ["metadata.name"], aggregates: allocatable }),
    pods: useCount("pods", {
      fieldSelector: active,
      groupBy: ["spec.nodeName"],
      aggregates: requested,
    }),
    troubled: useLivePage<NodeFields>("nodes", {
      filter: nodeProblems,
      fields: ["spec.unschedulable", "status.conditions[*].type", "status.conditions[*].status"],
      limit,
    }),
  };
}

/** What pods request in each namespace. */
export function useNamespaceRequests() {
  return useCount("pods", {
    ...useScope(),
    fieldSelector: active,
    groupBy: ["metadata.namespace"],
    aggregates: requested,
  });
}

/** The latest warnings. Events of the newer API have no lastTimestamp, so they are read apart. */
export function useWarnings() {
  const options = { ...useScope(), fieldSelector: "type=Warning", fields: eventFields };
  return [
    useLivePage<EventFields>("events", { ...options, orderBy: "lastTimestamp desc", limit: 100 }),
    useLivePage<EventFields>("events", {
      ...options,
      filter: withoutLastTimestamp,
      orderBy: "metadata.creationTimestamp desc",
      limit: 50,
    }),
  ] as const;
}

const newest = {
  orderBy: "metadata.creationTimestamp desc",
  fields: [
    "metadata.creationTimestamp",
    "metadata.annotations['deployment.kubernetes.io/revision']",
    "metadata.ownerReferences",
  ],
  limit,
};

/** The newest workloads, and replica sets, which show rollouts. */
export function useNewest() {
  const options = { ...useScope(), ...newest };
  const reads = [
    useLivePage<NewFields>("deployments.apps", options),
    useLivePage<NewFields>("replicasets.apps", options),
    useLivePage<NewFields>("statefulsets.apps", options),
    useLivePage<NewFields>("daemonsets.apps", options),
    useLivePage<NewFields>("jobs.batch", options),
  ];
  return reads;
}
