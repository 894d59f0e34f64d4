import type { KubeValue } from "@kubeconnect/client";
import { ageColumn, pathColumn } from "./common.js";
import {
  fieldsOf,
  listOf,
  specOf,
  statusOf,
  stringOf,
  type Cell,
  type Column,
  type KindColumns,
} from "./column.js";

function serviceAddress(service: KubeValue): Cell {
  const { type, externalIPs, externalName } = specOf(service);
  if (type === "ExternalName") return { text: stringOf(externalName) };
  const own = Array.isArray(externalIPs) ? externalIPs.map(stringOf) : [];
  const assigned = addressesOf(statusOf(service).loadBalancer);
  const text = [...own, ...assigned].join(", ");
  const isPending = type === "LoadBalancer" && text === "";
  return isPending ? { text: "Pending", tone: "warn" } : { text };
}

function addressesOf(loadBalancer: unknown): readonly string[] {
  return listOf(fieldsOf(loadBalancer).ingress).map(({ ip, hostname }) => stringOf(ip ?? hostname));
}

function servicePorts(service: KubeValue): Cell {
  const ports = listOf(specOf(service).ports).map(({ port, nodePort, protocol }) => {
    const node = nodePort ? `:${stringOf(nodePort)}` : "";
    return `${stringOf(port)}${node}/${stringOf(protocol) || "TCP"}`;
  });
  return { text: ports.join(", ") };
}

const services: readonly Column[] = [
  pathColumn("spec.type", { id: "type", title: "Type", width: 104 }),
  pathColumn("spec.clusterIP", { id: "clusterip", title: "Cluster IP", width: 116 }),
  {
    id: "external",
    title: "External address",
    width: 130,
    paths: ["spec.type", "spec.externalIPs", "spec.externalName", "status.loadBalancer"],
    cell: serviceAddress,
  },
  {
    id: "ports",
    title: "Ports",
    width: 150,
    paths: ["spec.ports[*].port", "spec.ports[*].nodePort", "spec.ports[*].protocol"],
    cell: servicePorts,
  },
  {
    id: "selector",
    title: "Selector",
    width: 200,
    optional: true,
    paths: ["spec.selector"],
    cell: (service) => ({
      text: Object.entries(fieldsOf(specOf(service).selector))
        .map(([key, value]) => `${key}=${stringOf(value)}`)
        .join(", "),
    }),
  },
  ageColumn(),
];

const ingresses: readonly Column[] = [
  pathColumn("spec.ingressClassName", { id: "class", title: "Class" }),
  pathColumn("spec.rules[*].host", { id: "hosts", title: "Hosts", width: 220, missing: "*" }),
  {
    id: "address",
    title: "Address",
    width: 150,
    paths: ["status.loadBalancer"],
    cell: (ingress) => ({ text: addressesOf(statusOf(ingress).loadBalancer).join(", ") }),
  },
  {
    id: "tls",
    title: "TLS",
    width: 60,
    paths: ["spec.tls[*].secretName"],
    cell: (ingress) => ({ text: listOf(specOf(ingress).tls).length > 0 ? "Yes" : "No" }),
  },
  ageColumn(),
];

export const networkColumns: Record<string, KindColumns> = {
  services: { namespaced: true, columns: services },
  "ingresses.networking.k8s.io": { namespaced: true, columns: ingresses },
};
