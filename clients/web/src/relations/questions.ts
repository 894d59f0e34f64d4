import type { KubeObject, LivePageOptions } from "@kubeconnect/client";
import type { TableSearch } from "../model/addresses.js";
import { resourceName } from "../model/resource.js";
import { referencesOf, type PodSpec, type Reference } from "./references.js";
import {
  labelsMatch,
  selectorText,
  serviceSelects,
  type Labels,
  type LabelSelector,
} from "./selector.js";
import { statusFields } from "./status.js";

/** The objects of a kind that are shown at most. */
export const mostOfKind = 30;

/** Part of the graph: a selection of objects, and how they are related to the object. */
export interface Question {
  /** Equal for equal questions. */
  readonly id: string;
  readonly resource: string;
  readonly kind: string;
  readonly options: LivePageOptions;
  /** What the objects are for the object of the graph, as the heading of a list. */
  readonly relation: string;
  /** Whether arrows lead from the objects to the object of the graph. */
  readonly isBefore: boolean;
  /** The objects that the answer must have, if they were named; the others do not exist. */
  readonly names?: ReadonlyMap<string, Reference>;
  /** Whether an object of the answer belongs to the graph. Default: all. */
  readonly isRelated?: (value: unknown) => boolean;
  /** The table with all objects of the answer. */
  readonly table?: TableSearch;
}

/** Where a kind is served. */
export interface KindInfo {
  readonly resource: string;
  readonly namespaced: boolean;
}

/** Returns where a kind is served; undefined if it is not known. */
export type Kinds = (apiVersion: string, kind: string) => KindInfo | undefined;

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

interface RootValue {
  readonly metadata: {
    readonly labels?: Labels;
    readonly ownerReferences?: readonly OwnerReference[];
  };
  readonly spec?: PodSpec & {
    readonly selector?: LabelSelector & Labels;
    readonly template?: {
      readonly metadata?: { readonly labels?: Labels };
      readonly spec?: PodSpec;
    };
    readonly scaleTargetRef?: OwnerReference;
    readonly volumeName?: string;
    readonly claimRef?: { readonly namespace?: string; readonly name?: string };
    readonly rules?: readonly unknown[];
    readonly defaultBackend?: unknown;
  };
}

const fields = [
  ...statusFields,
  "metadata.ownerReferences",
  "spec.selector",
  "spec.nodeName",
  "spec.rules",
  "spec.defaultBackend",
];

/** Returns all that is asked about an object, except about its owners. */
export function questionsAbout(root: KubeObject): readonly Question[] {
  const { namespace, resource, value } = root;
  const { metadata, spec = {} } = value as unknown as RootValue;
  const isPod = resource.kind === "Pod" && resource.group === "";
  const podSpec = spec.template?.spec ?? (isPod ? spec : undefined);
  const podLabels =
    spec.template?.metadata?.labels ?? (isPod ? (metadata.labels ?? {}) : undefined);
  return [
    ...ownedQuestions(root),
    ...selectedQuestions(root, spec.selector),
    ...(podLabels ? leadingQuestions(namespace, podLabels) : []),
    ...(podSpec ? usedQuestions(namespace, podSpec) : []),
    ...(spec.template ? [scalerQuestion(root)] : []),
    ...kindQuestions(root, spec),
  ].map((question) => ({ ...question, id: JSON.stringify([question.resource, question.options]) }));
}

type Asked = Omit<Question, "id">;

const kindsOwned: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  Deployment: [["replicasets.apps", "ReplicaSet"]],
  ReplicaSet: [["pods", "Pod"]],
  ReplicationController: [["pods", "Pod"]],
  StatefulSet: [["pods", "Pod"]],
  DaemonSet: [["pods", "Pod"]],
  Job: [["pods", "Pod"]],
  CronJob: [["jobs.batch", "Job"]],
  Service: [["endpointslices.discovery.k8s.io", "EndpointSlice"]],
};

/** What objects of custom kinds own most often. */
const kindsOfOthers = [
  ["deployments.apps", "Deployment"],
  ["statefulsets.apps", "StatefulSet"],
  ["daemonsets.apps", "DaemonSet"],
  ["jobs.batch", "Job"],
  ["pods", "Pod"],
  ["services", "Service"],
  ["configmaps", "ConfigMap"],
  ["secrets", "Secret"],
  ["persistentvolumeclaims", "PersistentVolumeClaim"],
  ["ingresses.networking.k8s.io", "Ingress"],
] as const;

/** Reports whether a group is one of users' own resources. */
function isCustom(group: string): boolean {
  return group.includes(".") && !group.endsWith(".k8s.io");
}

function ownedQuestions({ namespace, name, uid, resource }: KubeObject): Asked[] {
  if (namespace === "") return [];
  const owned = kindsOwned[resource.kind] ?? (isCustom(resource.group) ? kindsOfOthers : []);
  const related = { type: "ownedBy", resource: resourceName(resource), namespace, name } as const;
  const filter = `has(object.metadata.ownerReferences) && object.metadata.ownerReferences.exists(o, o.uid == '${uid}')`;
  return owned.map(([child, kind]) => ({
    resource: child,
    kind,
    relation: "Owns",
    isBefore: false,
    table: { ns: namespace, filter },
    options: {
      namespace,
      related,
      fields,
      limit: mostOfKind,
      orderBy: "metadata.creationTimestamp desc",
      // A deployment keeps ten earlier replica sets, which are its history.
      ...(kind === "ReplicaSet" && {
        filter: "object.spec.replicas > 0 || object.status.replicas > 0",
      }),
    },
  }));
}

function selectedQuestions(
  { namespace, name, resource }: KubeObject,
  selector: (LabelSelector & Labels) | undefined,
): Asked[] {
  const selecting = ["Deployment", "Service", "PodDisruptionBudget"];
  if (!selector || !selecting.includes(resource.kind)) return [];
  const isService = resource.kind === "Service";
  const labels = selectorText(isService ? { matchLabels: selector } : selector);
  const related = {
    type: "selectedBy",
    resource: resourceName(resource),
    namespace,
    name,
  } as const;
  return [
    {
      resource: "pods",
      kind: "Pod",
      relation: "Selects",
      isBefore: false,
      options: { namespace, related, fields, limit: mostOfKind },
      table: { ns: namespace, labels },
    },
  ];
}

/** The objects of a namespace that are looked through for those that select a pod. */
const mostSearched = 300;

/** What leads to pods with these labels: services, ingresses and routes, and disruption budgets. */
function leadingQuestions(namespace: string, labels: Labels): Asked[] {
  const options = { namespace, fields, limit: mostSearched };
  const selectorOf = (value: unknown) => (value as RootValue).spec?.selector;
  return [
    {
      resource: "services",
      kind: "Service",
      relation: "Selected by",
      isBefore: true,
      options,
      isRelated: (value) => serviceSelects(selectorOf(value), labels),
    },
    {
      resource: "poddisruptionbudgets.policy",
      kind: "PodDisruptionBudget",
      relation: "Protected by",
      isBefore: true,
      options,
      isRelated: (value) => labelsMatch(selectorOf(value), labels),
    },
    ...routeQuestions(namespace),
  ];
}

/** The ingresses and routes of a namespace. The graph has those that lead to one of its services. */
function routeQuestions(namespace: string): Asked[] {
  const options = { namespace, fields, limit: mostSearched };
  const route = { relation: "Routed by", isBefore: true, options };
  return [
    { ...route, resource: "ingresses.networking.k8s.io", kind: "Ingress" },
    { ...route, resource: "httproutes.gateway.networking.k8s.io", kind: "HTTPRoute" },
  ];
}

const usedKinds: Readonly<Record<string, string>> = {
  configmaps: "ConfigMap",
  secrets: "Secret",
  serviceaccounts: "ServiceAccount",
  persistentvolumeclaims: "PersistentVolumeClaim",
};

function usedQuestions(namespace: string, spec: PodSpec): Asked[] {
  const used = [...referencesOf(spec)].map(([resource, names]) => {
    const kind = usedKinds[resource] ?? resource;
    return namedQuestion(resource, kind, "Uses", namespace, names);
  });
  return spec.nodeName ? [...used, nodeQuestion(spec.nodeName)] : used;
}

function nodeQuestion(name: string): Asked {
  const names = new Map([[name, { use: "runs on", optional: false }]]);
  return namedQuestion("nodes", "Node", "Runs on", "", names);
}

function namedQuestion(
  resource: string,
  kind: string,
  relation: string,
  namespace: string,
  names: ReadonlyMap<string, Reference>,
): Asked {
  const shown = new Map([...names].slice(0, mostOfKind));
  const list = [...shown.keys()].map((name) => `'${name.replace(/[^\w.:-]/g, "")}'`).join(", ");
  const isSecret = kind === "Secret" || kind === "ConfigMap" || kind === "ServiceAccount";
  return {
    resource,
    kind,
    relation,
    isBefore: false,
    names: shown,
    options: {
      ...(namespace && { namespace }),
      filter: `object.metadata.name in [${list}]`,
      limit: mostOfKind,
      ...(isSecret ? { metadataOnly: true } : { fields }),
    },
  };
}

function scalerQuestion({ namespace, name, resource }: KubeObject): Asked {
  const target = "object.spec.scaleTargetRef";
  return {
    resource: "horizontalpodautoscalers.autoscaling",
    kind: "HorizontalPodAutoscaler",
    relation: "Scaled by",
    isBefore: true,
    options: {
      namespace,
      fields,
      limit: mostOfKind,
      filter: `${target}.kind == '${resource.kind}' && ${target}.name == '${name}'`,
    },
  };
}

/** What is asked about objects of some kinds only. */
function kindQuestions(root: KubeObject, spec: NonNullable<RootValue["spec"]>): Asked[] {
  const { namespace, name, resource } = root;
  const one = (use: string, other: string) => new Map([[other, { use, optional: false }]]);
  switch (resource.kind) {
    case "Service":
      return routeQuestions(namespace);
    case "Ingress":
    case "HTTPRoute": {
      const names = new Map(
        backendsOf({ spec }).map((each) => [each, { use: "routes to", optional: false }]),
      );
      return names.size > 0
        ? [namedQuestion("services", "Service", "Routes to", namespace, names)]
        : [];
    }
    case "HorizontalPodAutoscaler": {
      const { kind = "", name: target = "" } = spec.scaleTargetRef ?? {};
      const plural = `${kind.toLowerCase()}s.apps`;
      return [namedQuestion(plural, kind, "Scales", namespace, one("scales", target))];
    }
    case "PersistentVolumeClaim": {
      const volume = spec.volumeName;
      const bound = one("is bound to", volume ?? "");
      return [
        ...(volume
          ? [namedQuestion("persistentvolumes", "PersistentVolume", "Bound to", "", bound)]
          : []),
        usersQuestion(
          namespace,
          `has(v.persistentVolumeClaim) && v.persistentVolumeClaim.claimName == '${name}'`,
        ),
      ];
    }
    case "ConfigMap":
      return [
        usersQuestion(
          namespace,
          `has(v.configMap) && v.configMap.name == '${name}'`,
          envUses("configMap", name),
        ),
      ];
    case "Secret":
      return [
        usersQuestion(
          namespace,
          `has(v.secret) && v.secret.secretName == '${name}'`,
          envUses("secret", name),
        ),
      ];
    case "ServiceAccount":
      return [
        podsQuestion(
          { namespace, filter: `object.spec.serviceAccountName == '${name}'` },
          "Used by",
          true,
        ),
      ];
    case "Node":
      return [podsQuestion({ fieldSelector: `spec.nodeName=${name}` }, "Runs", false)];
    default:
      return [];
  }
}

/** The pods with a volume for which the condition over `v` is true, or another condition. */
function usersQuestion(namespace: string, volume: string, other?: string): Asked {
  const mounts = `(has(object.spec.volumes) && object.spec.volumes.exists(v, ${volume}))`;
  return podsQuestion(
    { namespace, filter: other ? `${mounts} || ${other}` : mounts },
    "Used by",
    true,
  );
}

function envUses(kind: "configMap" | "secret", name: string): string {
  const from = `has(c.envFrom) && c.envFrom.exists(e, has(e.${kind}Ref) && e.${kind}Ref.name == '${name}')`;
  const key = `has(e.valueFrom) && has(e.valueFrom.${kind}KeyRef) && e.valueFrom.${kind}KeyRef.name == '${name}'`;
  return `object.spec.containers.exists(c, (${from}) || (has(c.env) && c.env.exists(e, ${key})))`;
}

function podsQuestion(
  selection: Pick<LivePageOptions, "namespace" | "filter" | "fieldSelector">,
  relation: string,
  isBefore: boolean,
): Asked {
  const { namespace, filter, fieldSelector } = selection;
  return {
    resource: "pods",
    kind: "Pod",
    relation,
    isBefore,
    options: { ...selection, fields, limit: mostOfKind },
    table: {
      ...(namespace && { ns: namespace }),
      ...(filter && { filter }),
      ...(fieldSelector && { fields: fieldSelector }),
    },
  };
}

/** Returns the question about an owner; undefined if its kind is not known. */
export function ownerQuestion(
  namespace: string,
  { apiVersion, kind, name }: OwnerReference,
  kinds: Kinds,
): Question | undefined {
  const info = kinds(apiVersion, kind);
  if (!info) return undefined;
  const names = new Map([[name, { use: "is owned by", optional: false }]]);
  const place = info.namespaced ? namespace : "";
  const { options, ...question } = namedQuestion(info.resource, kind, "Owned by", place, names);
  const asked = { ...question, isBefore: true, options: { ...options, fields } };
  return { ...asked, id: JSON.stringify([info.resource, asked.options]) };
}

/** Returns the names of the services to which an ingress or a route leads. */
export function backendsOf(value: unknown): readonly string[] {
  const found = new Set<string>();
  const visit = (part: unknown): void => {
    if (Array.isArray(part)) part.forEach(visit);
    if (typeof part !== "object" || part === null) return;
    for (const [field, inner] of Object.entries(part)) {
      const name = (inner as { name?: unknown } | null)?.name;
      if (field === "service" && typeof name === "string") found.add(name);
      if (field === "backendRefs" && Array.isArray(inner)) {
        for (const { kind = "Service", name } of inner as { kind?: string; name?: string }[]) {
          if (kind === "Service" && name) found.add(name);
        }
      } else visit(inner);
    }
  };
  const { rules, defaultBackend } = (value as RootValue).spec ?? {};
  visit(rules);
  visit({ defaultBackend });
  return [...found];
}
