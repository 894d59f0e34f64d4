import { podStatus, podStatusPaths } from "../podstatus.js";
import { ageColumn, pathColumn } from "./common.js";
import { type Column, type KindColumns } from "./column.js";

const columns: readonly Column[] = [
  {
    id: "status",
    title: "Status",
    width: 160,
    paths: podStatusPaths,
    sortPath: "status.phase",
    cell: (pod) => {
      const { status, tone } = podStatus(pod);
      return { text: status, tone };
    },
  },
  {
    id: "ready",
    title: "Ready",
    width: 60,
    numeric: true,
    paths: podStatusPaths,
    cell: (pod) => {
      const { ready, containers } = podStatus(pod);
      return { text: `${ready}/${containers}` };
    },
  },
  {
    id: "restarts",
    title: "Restarts",
    width: 70,
    numeric: true,
    paths: podStatusPaths,
    cell: (pod) => ({ text: String(podStatus(pod).restarts) }),
  },
  pathColumn("spec.nodeName", { id: "node", title: "Node", width: 130 }),
  pathColumn("status.podIP", { id: "ip", title: "IP", width: 110, optional: true }),
  pathColumn("spec.containers[*].image", {
    id: "images",
    title: "Images",
    width: 260,
    optional: true,
  }),
  pathColumn("spec.serviceAccountName", {
    id: "account",
    title: "Service account",
    optional: true,
  }),
  pathColumn("status.qosClass", { id: "qos", title: "QoS", width: 90, optional: true }),
  ageColumn(),
];

export const podColumns: Record<string, KindColumns> = { pods: { namespaced: true, columns } };
