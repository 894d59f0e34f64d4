import type { KubeValue } from "@kubeconnect/client";
import { plural, type Fact, type Finding, type Related, type Summary } from "./types.js";

interface ServiceValue extends KubeValue {
  readonly spec?: {
    readonly type?: string;
    readonly clusterIP?: string;
    readonly externalName?: string;
    readonly selector?: Readonly<Record<string, string>>;
    readonly ports?: readonly {
      readonly name?: string;
      readonly port: number;
      readonly targetPort?: number | string;
      readonly protocol?: string;
      readonly nodePort?: number;
    }[];
  };
  readonly status?: {
    readonly loadBalancer?: {
      readonly ingress?: readonly { readonly ip?: string; readonly hostname?: string }[];
    };
  };
}

interface Slice extends KubeValue {
  readonly endpoints?:
    readonly { readonly conditions?: { readonly ready?: boolean | null } }[] | null;
}

/** Returns the number of endpoints of a service, and of those that are ready. */
export function countEndpoints(slices: readonly KubeValue[]): { ready: number; total: number } {
  const endpoints = slices.flatMap((each) => (each as Slice).endpoints ?? []);
  // Without a value an endpoint counts as ready, by the API's rule.
  const ready = endpoints.filter(({ conditions }) => conditions?.ready !== false).length;
  return { ready, total: endpoints.length };
}

/** Returns the state of a service: whether traffic has somewhere to go. */
export function summarizeService(value: KubeValue, { endpointSlices }: Related = {}): Summary {
  const service = value as ServiceValue;
  const { spec = {} } = service;
  if (spec.type === "ExternalName") {
    const facts = [{ name: "External name", value: spec.externalName ?? "" }];
    return { status: { text: "External", tone: "neutral" }, findings: [], facts };
  }
  const endpoints = endpointSlices && countEndpoints(endpointSlices);
  const facts = serviceFacts(service, endpoints);
  if (!endpoints)
    return { status: { text: spec.type ?? "ClusterIP", tone: "neutral" }, findings: [], facts };
  const findings = [...endpointFindings(service, endpoints), ...addressFindings(service)];
  const status =
    endpoints.ready === 0
      ? { text: "No endpoints", tone: "bad" as const }
      : {
          text: `${plural(endpoints.ready, "endpoint")} ready`,
          tone: endpoints.ready < endpoints.total ? ("warn" as const) : ("ok" as const),
        };
  return { status, findings, facts };
}

function endpointFindings(
  { spec }: ServiceValue,
  { ready, total }: { ready: number; total: number },
): readonly Finding[] {
  if (ready > 0 && ready === total) return [];
  if (total > 0) {
    const title = `${ready} of ${plural(total, "endpoint")} ${ready === 1 ? "is" : "are"} ready`;
    return [
      { tone: ready === 0 ? "bad" : "warn", title, advice: "Look at the pods that are not ready." },
    ];
  }
  const selector = Object.entries(spec?.selector ?? {}).map(([key, value]) => `${key}=${value}`);
  const title = selector.length
    ? `No pod has the labels of its selector: ${selector.join(", ")}`
    : "It has no selector, and nothing has set endpoints for it";
  return [{ tone: "bad", title }];
}

function addressFindings({ spec, status }: ServiceValue): readonly Finding[] {
  if (spec?.type !== "LoadBalancer" || status?.loadBalancer?.ingress?.length) return [];
  return [{ tone: "warn", title: "The load balancer has no address yet" }];
}

function serviceFacts(
  { spec = {}, status }: ServiceValue,
  endpoints: { ready: number; total: number } | undefined,
): readonly Fact[] {
  const external = (status?.loadBalancer?.ingress ?? []).map(
    ({ ip, hostname }) => ip ?? hostname ?? "",
  );
  const ports = (spec.ports ?? []).map(({ name, port, targetPort, protocol = "TCP", nodePort }) => {
    const target = targetPort === undefined || targetPort === port ? "" : ` → ${targetPort}`;
    return `${name ? `${name} ` : ""}${port}${target}/${protocol}${nodePort ? `, node port ${nodePort}` : ""}`;
  });
  return [
    { name: "Type", value: spec.type ?? "ClusterIP" },
    { name: "Cluster IP", value: spec.clusterIP ?? "none" },
    ...(external.length ? [{ name: "External address", value: external.join(", ") }] : []),
    { name: "Ports", value: ports.join("; ") || "none" },
    ...(endpoints
      ? [{ name: "Endpoints", value: `${endpoints.ready} of ${endpoints.total} ready` }]
      : []),
  ];
}
