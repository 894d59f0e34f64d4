import type { ResourceType } from "@kubeconnect/client";
import { expect, test } from "vitest";
import { resourceName } from "../src/model/resource.js";
import {
  countText,
  countedTypes,
  groupTypes,
  isLive,
  typeLabel,
  typeOfWord,
  type TypeGroup,
} from "../src/model/types.js";

function type(plural: string, kind: string, group = "", ...shortNames: string[]): ResourceType {
  return {
    resource: { group, version: "v1", kind, plural, namespaced: true },
    versions: ["v1"],
    singular: kind.toLowerCase(),
    shortNames,
    categories: [],
    verbs: ["get", "list", "watch"],
    subresources: [],
    cache: undefined,
  };
}

const pods = type("pods", "Pod", "", "po");
const deployments = type("deployments", "Deployment", "apps", "deploy");
const secrets = type("secrets", "Secret");
const backups = type("backups", "Backup", "storage.example.com");
const policies = type("networkpolicies", "NetworkPolicy", "networking.k8s.io", "netpol");
const classes = type("ingressclasses", "IngressClass", "networking.k8s.io");
const routes = type("httproutes", "HTTPRoute", "gateway.networking.k8s.io");
const leases = type("leases", "Lease", "coordination.k8s.io");

const names = (groups: readonly TypeGroup[]) =>
  groups.map((group) => [group.name, ...group.types.map(({ resource }) => resourceName(resource))]);

test("types are in the groups that people know, custom ones by API group", () => {
  const types = [routes, leases, backups, classes, policies, secrets, deployments, pods];
  expect(names(groupTypes(types))).toEqual([
    ["Workloads", "pods", "deployments.apps"],
    ["Network", "networkpolicies.networking.k8s.io", "ingressclasses.networking.k8s.io"],
    ["Config", "secrets"],
    ["Cluster", "leases.coordination.k8s.io"],
    ["gateway.networking.k8s.io", "httproutes.gateway.networking.k8s.io"],
    ["storage.example.com", "backups.storage.example.com"],
  ]);
});

test("only types that can be listed and watched are live, and events once", () => {
  expect(isLive(pods)).toBe(true);
  expect(isLive({ ...pods, verbs: ["list"] })).toBe(false);
  expect(isLive(type("events", "Event"))).toBe(true);
  expect(isLive(type("events", "Event", "events.k8s.io"))).toBe(false);
});

test("labels are the kinds in the plural", () => {
  expect([pods, policies, classes, routes].map(typeLabel)).toEqual([
    "Pods",
    "NetworkPolicies",
    "IngressClasses",
    "HTTPRoutes",
  ]);
});

test("types of open groups are counted, but not secrets, and not more than the limit", () => {
  const groups = groupTypes([pods, deployments, secrets, backups]);
  const isOpen = (name: string) => name !== "storage.example.com";
  expect([...countedTypes(groups, isOpen, 10)]).toEqual(["pods", "deployments.apps"]);
  expect([...countedTypes(groups, isOpen, 1)]).toEqual(["pods"]);
});

test("a word names a type as in kubectl, or by its begin", () => {
  const types = [pods, deployments, policies];
  expect(typeOfWord("po", types)).toBe(pods);
  expect(typeOfWord("Deployments", types)).toBe(deployments);
  expect(typeOfWord("deployments.apps", types)).toBe(deployments);
  expect(typeOfWord("netw", types)).toBe(policies);
  expect(typeOfWord("web", types)).toBeUndefined();
});

test("a number of objects is in words", () => {
  expect(countText(1, "secrets", [secrets])).toBe("1 Secret");
  expect(countText(1200, "deployments.apps", [deployments])).toBe("1,200 Deployments");
  expect(countText(2, "unknown.example.com", [])).toBe("2 unknown.example.com");
});
