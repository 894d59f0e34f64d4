import type { Aggregate, ObjectGroup } from "@kubeconnect/client";

/** What pods request of a node, and what it has, in cores and bytes. */
export interface NodeLoad {
  readonly name: string;
  readonly pods: number;
  readonly cpu: number;
  readonly memory: number;
  readonly allocatableCpu: number;
  readonly allocatableMemory: number;
}

/** Groups with sums of CPU and memory, in this order. */
type SumGroups = readonly ObjectGroup<readonly Aggregate[]>[];

/** What is requested in a group. */
export interface Requests {
  readonly name: string;
  readonly pods: number;
  readonly cpu: number;
  readonly memory: number;
}

/** Returns what the pods of each group request, the largest requests first. */
export function requestsOf(groups: SumGroups): readonly Requests[] {
  return groups
    .flatMap((group) => requests(group) ?? [])
    .sort((a, b) => b.cpu - a.cpu || b.memory - a.memory || b.pods - a.pods);
}

function requests({ values: [name], count, aggregates }: SumGroups[number]): Requests | undefined {
  if (typeof name !== "string") return undefined; // pods that are on no node
  return { name, pods: count, cpu: numberOf(aggregates[0]), memory: numberOf(aggregates[1]) };
}

function numberOf(result: { readonly value: unknown } | undefined): number {
  return typeof result?.value === "number" ? result.value : 0;
}

/** Returns the loads of nodes, the fullest first. */
export function nodeLoads(nodes: SumGroups, pods: SumGroups): readonly NodeLoad[] {
  const requested = new Map(requestsOf(pods).map((each) => [each.name, each]));
  return requestsOf(nodes)
    .map(({ name, cpu: allocatableCpu, memory: allocatableMemory }) => {
      const { pods = 0, cpu = 0, memory = 0 } = requested.get(name) ?? {};
      return { name, pods, cpu, memory, allocatableCpu, allocatableMemory };
    })
    .sort((a, b) => fullness(b) - fullness(a) || b.pods - a.pods);
}

/** Returns the larger part of a node that is requested, from 0 to 1, or more. */
export function fullness({ cpu, memory, allocatableCpu, allocatableMemory }: NodeLoad): number {
  return Math.max(share(cpu, allocatableCpu), share(memory, allocatableMemory));
}

function share(part: number, whole: number): number {
  return whole > 0 ? part / whole : 0;
}

/** The conditions of nodes. */
export interface NodeFields {
  readonly spec?: { readonly unschedulable?: boolean };
  readonly status?: { readonly conditions?: readonly { type?: string; status?: string }[] };
}

/** A CEL expression that selects the nodes with a problem: not ready, under pressure, or cordoned. */
export const nodeProblems =
  "(has(object.spec.unschedulable) && object.spec.unschedulable) || " +
  "(has(object.status.conditions) && object.status.conditions.exists(c, " +
  "c.type == 'Ready' ? c.status != 'True' : c.status == 'True'))";

/** Returns the problems of a node in words. */
export function problemsOf({ spec, status }: NodeFields): readonly string[] {
  const problems = (status?.conditions ?? []).flatMap(({ type = "", status: value }) => {
    if (type === "Ready") return value === "True" ? [] : ["not ready"];
    return value === "True" ? [words(type)] : [];
  });
  return spec?.unschedulable ? [...problems, "cordoned"] : problems;
}

/** Returns the words of a name: "memory pressure" of "MemoryPressure". */
function words(name: string): string {
  return name
    .replace(/([a-z])([A-Z])/g, "$1 $2")
    .replace(/\b[A-Z](?=[a-z])/g, (letter) => letter.toLowerCase());
}
