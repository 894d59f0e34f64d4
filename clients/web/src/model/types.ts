import type { Resource, ResourceType } from "@kubeconnect/client";
import { resourceName } from "./resource.js";

/** A heading of the sidebar with its types. */
export interface TypeGroup {
  readonly name: string;
  readonly types: readonly ResourceType[];
}

const workloads = [
  "pods",
  "deployments.apps",
  "statefulsets.apps",
  "daemonsets.apps",
  "jobs.batch",
  "cronjobs.batch",
  "replicasets.apps",
  "replicationcontrollers",
  "horizontalpodautoscalers.autoscaling",
  "poddisruptionbudgets.policy",
  "podtemplates",
  "controllerrevisions.apps",
];

/** The types of the groups in their order: names of resources, or "*.GROUP" for all of an API group. */
const builtIn: readonly (readonly [string, readonly string[]])[] = [
  ["Workloads", workloads],
  [
    "Network",
    [
      "services",
      "ingresses.networking.k8s.io",
      "networkpolicies.networking.k8s.io",
      "endpointslices.discovery.k8s.io",
      "endpoints",
      "*.networking.k8s.io",
    ],
  ],
  ["Config", ["configmaps", "secrets", "resourcequotas", "limitranges"]],
  [
    "Storage",
    [
      "persistentvolumeclaims",
      "persistentvolumes",
      "storageclasses.storage.k8s.io",
      "*.storage.k8s.io",
    ],
  ],
  [
    "Access",
    [
      "serviceaccounts",
      "*.rbac.authorization.k8s.io",
      "certificatesigningrequests.certificates.k8s.io",
    ],
  ],
  ["Cluster", ["nodes", "namespaces", "events"]],
];

/** The API groups of Kubernetes itself. Others with ".k8s.io" are those of custom resources. */
const builtInApiGroups = new Set([
  "",
  "admissionregistration.k8s.io",
  "apiextensions.k8s.io",
  "apiregistration.k8s.io",
  "apps",
  "authentication.k8s.io",
  "authorization.k8s.io",
  "autoscaling",
  "batch",
  "certificates.k8s.io",
  "coordination.k8s.io",
  "discovery.k8s.io",
  "events.k8s.io",
  "extensions",
  "flowcontrol.apiserver.k8s.io",
  "internal.apiserver.k8s.io",
  "networking.k8s.io",
  "node.k8s.io",
  "policy",
  "rbac.authorization.k8s.io",
  "resource.k8s.io",
  "scheduling.k8s.io",
  "storage.k8s.io",
  "storagemigration.k8s.io",
]);

/** Whether the objects can be shown live: the resource can be listed and watched. */
export function isLive({ verbs, resource }: ResourceType): boolean {
  const isCopy = resource.group === "events.k8s.io"; // the same objects as "events"
  return verbs.includes("list") && verbs.includes("watch") && !isCopy;
}

/** Returns the types in the groups that people know; custom resources by their API groups. */
export function groupTypes(types: readonly ResourceType[]): readonly TypeGroup[] {
  const places = types.map((type) => ({ type, ...placeOf(type.resource) }));
  const custom = [...new Set(places.filter(({ rank }) => rank < 0).map(({ group }) => group))];
  return [...builtIn.map(([name]) => name), ...custom.sort()]
    .map((name) => ({
      name,
      types: places
        .filter(({ group }) => group === name)
        .sort((a, b) => a.rank - b.rank || (typeLabel(a.type) < typeLabel(b.type) ? -1 : 1))
        .map(({ type }) => type),
    }))
    .filter(({ types }) => types.length > 0);
}

function placeOf(resource: Resource): { group: string; rank: number } {
  const name = resourceName(resource);
  for (const [group, patterns] of builtIn) {
    const index = patterns.indexOf(name);
    if (index >= 0) return { group, rank: index };
  }
  for (const [group, patterns] of builtIn) {
    if (patterns.includes(`*.${resource.group}`)) return { group, rank: patterns.length };
  }
  if (builtInApiGroups.has(resource.group)) return { group: "Cluster", rank: 100 };
  return { group: resource.group, rank: -1 };
}

/** Returns the kind's name in the plural: "NetworkPolicies". */
export function typeLabel({ resource: { kind, plural } }: Pick<ResourceType, "resource">): string {
  const lower = kind.toLowerCase();
  let same = 0;
  while (same < lower.length && lower[same] === plural[same]) same++;
  return same > 0 ? kind.slice(0, same) + plural.slice(same) : kind;
}

/** Returns a number of objects in words: "1 Secret", "5 Deployments". */
export function countText(count: number, name: string, types: readonly ResourceType[]): string {
  const type = types.find(({ resource }) => resourceName(resource) === name);
  const word = type && (count === 1 ? type.resource.kind : typeLabel(type));
  return `${count.toLocaleString("en")} ${word ?? name}`;
}

/** Returns the texts by which a type is found: those that kubectl accepts. */
export function typeNames(type: ResourceType): readonly string[] {
  const { resource, singular, shortNames } = type;
  return [typeLabel(type), resource.plural, singular, ...shortNames, resourceName(resource)];
}

/** Returns the type that a word names as in kubectl, or by the begin of its name. */
export function typeOfWord(word: string, types: readonly ResourceType[]): ResourceType | undefined {
  const wanted = word.toLowerCase();
  const named = types.find((type) => typeNames(type).some((name) => name.toLowerCase() === wanted));
  return (
    named ?? types.find(({ resource }) => wanted.length > 1 && resource.plural.startsWith(wanted))
  );
}

/** Resources whose caches are large, or hold what few should read: they are not counted unasked. */
const notCounted = new Set(["secrets", "events", "leases.coordination.k8s.io"]);

/**
 * Returns the names of the types to count: those of the open groups, at most `limit`, because
 * each one starts a cache in the service.
 */
export function countedTypes(
  groups: readonly TypeGroup[],
  isOpen: (group: string) => boolean,
  limit: number,
): ReadonlySet<string> {
  const names = groups
    .filter(({ name }) => isOpen(name))
    .flatMap(({ types }) => types.map(({ resource }) => resourceName(resource)));
  return new Set([...new Set(names)].filter((name) => !notCounted.has(name)).slice(0, limit));
}
