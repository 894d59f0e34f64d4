import type { KubeValue } from "@kubeconnect/client";
import type { Tone } from "../../model/tone.js";
import {
  conditionOf,
  fieldsOf,
  listOf,
  numberOf,
  specOf,
  statusOf,
  stringOf,
  type Cell,
  type Column,
  type KindColumns,
} from "./column.js";
import { ageColumn, pathColumn } from "./common.js";

const pressures = ["MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"];

/** Returns whether a node is ready, under pressure and cordoned. */
function nodeStatus(node: KubeValue): Cell {
  const ready = conditionOf(node, "Ready");
  const words = [ready === "True" ? "Ready" : ready === "False" ? "NotReady" : "Unknown"];
  const troubles = pressures.filter((type) => conditionOf(node, type) === "True");
  if (specOf(node).unschedulable === true) words.push("SchedulingDisabled");
  const tone: Tone = ready !== "True" ? "bad" : words.length + troubles.length > 1 ? "warn" : "ok";
  return { text: [...words, ...troubles].join(", "), tone };
}

const rolePrefix = "node-role.kubernetes.io/";

function nodeRoles({ metadata }: KubeValue): Cell {
  const roles = Object.keys(metadata.labels ?? {}).filter((label) => label.startsWith(rolePrefix));
  return { text: roles.map((label) => label.slice(rolePrefix.length)).join(", ") };
}

function internalAddress(node: KubeValue): Cell {
  const address = listOf(statusOf(node).addresses).find(({ type }) => type === "InternalIP");
  return { text: stringOf(address?.address) };
}

const nodes: readonly Column[] = [
  {
    id: "status",
    title: "Status",
    width: 210,
    paths: ["status.conditions[*].type", "status.conditions[*].status", "spec.unschedulable"],
    cell: nodeStatus,
  },
  { id: "roles", title: "Roles", width: 120, paths: ["metadata.labels"], cell: nodeRoles },
  pathColumn("status.nodeInfo.kubeletVersion", { id: "version", title: "Version", width: 90 }),
  pathColumn("status.allocatable.cpu", { id: "cpu", title: "CPU", width: 64, numeric: true }),
  pathColumn("status.allocatable.memory", {
    id: "memory",
    title: "Memory",
    width: 100,
    numeric: true,
  }),
  pathColumn("status.allocatable.pods", { id: "pods", title: "Pods", width: 60, numeric: true }),
  {
    id: "address",
    title: "Address",
    width: 110,
    optional: true,
    paths: ["status.addresses"],
    cell: internalAddress,
  },
  pathColumn("status.nodeInfo.osImage", { id: "os", title: "OS", width: 180, optional: true }),
  ageColumn(),
];

const namespaceTones: Record<string, Tone> = { Active: "ok", Terminating: "info" };
const volumeTones: Record<string, Tone> = {
  Bound: "ok",
  Available: "neutral",
  Pending: "warn",
  Released: "warn",
  Lost: "bad",
  Failed: "bad",
};

function phaseColumn(tones: Record<string, Tone>): Column {
  return {
    id: "status",
    title: "Status",
    width: 110,
    paths: ["status.phase"],
    sortPath: "status.phase",
    cell: (object) => {
      const text = stringOf(statusOf(object).phase);
      return { text, tone: tones[text] ?? "neutral" };
    },
  };
}

const accessModes = pathColumn("spec.accessModes[*]", { id: "modes", title: "Access", width: 130 });
const storageClass = pathColumn("spec.storageClassName", { id: "class", title: "Storage class" });

const claims: readonly Column[] = [
  phaseColumn(volumeTones),
  pathColumn("status.capacity.storage", {
    id: "capacity",
    title: "Capacity",
    width: 84,
    numeric: true,
  }),
  pathColumn("spec.volumeName", { id: "volume", title: "Volume", width: 180 }),
  accessModes,
  storageClass,
  ageColumn(),
];

const volumes: readonly Column[] = [
  phaseColumn(volumeTones),
  pathColumn("spec.capacity.storage", {
    id: "capacity",
    title: "Capacity",
    width: 84,
    numeric: true,
  }),
  {
    id: "claim",
    title: "Claim",
    width: 200,
    paths: ["spec.claimRef.namespace", "spec.claimRef.name"],
    sortPath: "spec.claimRef.name",
    cell: (volume) => {
      const { namespace, name } = fieldsOf(specOf(volume).claimRef);
      return { text: name ? `${stringOf(namespace)}/${stringOf(name)}` : "" };
    },
  },
  pathColumn("spec.persistentVolumeReclaimPolicy", { id: "reclaim", title: "Reclaim", width: 90 }),
  accessModes,
  storageClass,
  ageColumn(),
];

/** Returns the last time at which an event occurred. */
function eventTime(event: KubeValue): Cell {
  const { lastObservedTime } = fieldsOf(event.series);
  const time = lastObservedTime ?? event.lastTimestamp ?? event.eventTime;
  const since = stringOf(time) || event.metadata.creationTimestamp;
  return { text: since, since };
}

const events: readonly Column[] = [
  {
    id: "type",
    title: "Type",
    width: 90,
    paths: ["type"],
    sortPath: "type",
    cell: (event) => {
      const text = stringOf(event.type);
      return { text, tone: text === "Warning" ? "warn" : "neutral" };
    },
  },
  pathColumn("reason", { title: "Reason", width: 130 }),
  {
    id: "object",
    title: "Object",
    width: 180,
    paths: ["involvedObject.kind", "involvedObject.name", "regarding.kind", "regarding.name"],
    cell: (event) => {
      const { kind, name } = fieldsOf(event.involvedObject ?? event.regarding);
      return { text: `${stringOf(kind)}/${stringOf(name)}` };
    },
  },
  {
    id: "message",
    title: "Message",
    width: 280,
    paths: ["message", "note"],
    cell: (event) => ({ text: stringOf(event.message ?? event.note) }),
  },
  {
    id: "count",
    title: "Count",
    width: 60,
    numeric: true,
    paths: ["count", "series.count", "deprecatedCount"],
    cell: (event) => {
      const count = fieldsOf(event.series).count ?? event.count ?? event.deprecatedCount;
      return { text: String(numberOf(count, 1)) };
    },
  },
  {
    id: "last",
    title: "Last seen",
    width: 80,
    numeric: true,
    reversed: true,
    paths: ["lastTimestamp", "eventTime", "series.lastObservedTime", "metadata.creationTimestamp"],
    sortPath: "metadata.creationTimestamp",
    cell: eventTime,
  },
];

export const clusterColumns: Record<string, KindColumns> = {
  nodes: { namespaced: false, columns: nodes },
  namespaces: { namespaced: false, columns: [phaseColumn(namespaceTones), ageColumn()] },
  persistentvolumeclaims: { namespaced: true, columns: claims },
  persistentvolumes: { namespaced: false, columns: volumes },
  events: { namespaced: true, columns: events },
  "events.events.k8s.io": { namespaced: true, columns: events },
};
