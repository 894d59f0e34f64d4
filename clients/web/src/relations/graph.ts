import type { KubeObject, KubeValue } from "@kubeconnect/client";
import type { TableSearch } from "../model/addresses.js";
import { objectParams, resourceName } from "../model/resource.js";
import {
  backendsOf,
  mostOfKind,
  ownerQuestion,
  questionsAbout,
  type Kinds,
  type OwnerReference,
  type Question,
} from "./questions.js";
import { statusOf, type NodeStatus } from "./status.js";

/** What was read for a question so far. */
export interface Answer {
  readonly question: Question;
  /** Undefined while the objects are read. */
  readonly items: readonly Item[] | undefined;
  readonly total: number;
  /** Why the objects cannot be read. */
  readonly error?: string | undefined;
}

/** An object of an answer. */
export type Item = Pick<KubeObject, "namespace" | "name" | "uid" | "resource"> & {
  readonly value: KubeValue;
};

/** An object of the graph, or the objects of a kind that are not shown. */
export interface GraphNode {
  readonly id: string;
  readonly kind: string;
  readonly name: string;
  readonly status: NodeStatus;
  /** What the object is for the object of the graph; empty for that object. */
  readonly relation: string;
  /** The address of the object; undefined if its kind is not known. */
  readonly params?: ReturnType<typeof objectParams> | undefined;
  /** The table with the objects that are not shown. */
  readonly table?: { readonly resource: string; readonly search: TableSearch };
}

/** An arrow of the graph. */
export interface GraphEdge {
  readonly from: string;
  readonly to: string;
}

export interface Graph {
  readonly nodes: readonly GraphNode[];
  readonly edges: readonly GraphEdge[];
  /** The kinds that could not be read, with the reason. */
  readonly failures: readonly string[];
}

/** The number of owners that are followed upwards. */
const mostOwners = 8;

/**
 * Returns all questions whose answers make the graph. The owners of owners are asked for when the
 * owners are known; owners that own each other are asked for once.
 */
export function questionsOf(
  root: KubeObject,
  kinds: Kinds,
  answers: ReadonlyMap<string, Answer>,
): readonly Question[] {
  const questions = new Map(questionsAbout(root).map((question) => [question.id, question]));
  const owned: Item[] = [root];
  const asked = new Set<string>([root.uid]);
  for (const item of owned) {
    for (const owner of ownersOf(item)) {
      if (asked.has(owner.uid) || asked.size > mostOwners) continue;
      asked.add(owner.uid);
      const question = ownerQuestion(root.namespace, owner, kinds);
      if (!question) continue;
      if (!questions.has(question.id)) questions.set(question.id, question);
      owned.push(...(answers.get(question.id)?.items ?? []));
    }
  }
  return [...questions.values()];
}

function ownersOf({ value }: Item): readonly OwnerReference[] {
  // An object of which only some fields are read has no metadata if it has none of them.
  const { metadata } = value as { metadata?: { ownerReferences?: readonly OwnerReference[] } };
  return metadata?.ownerReferences ?? [];
}

/** Builds the graph of an object from what was read so far. */
export function buildGraph(root: KubeObject, answers: readonly Answer[]): Graph {
  const builder = new GraphBuilder(root);
  for (const answer of answers) builder.add(answer);
  return builder.build();
}

/** An object in the graph, and the side of the arrows between it and the object of the graph. */
interface Placed {
  readonly item: Item | undefined;
  readonly node: GraphNode;
  readonly isBefore: boolean;
}

class GraphBuilder {
  readonly #root: GraphNode;
  readonly #rootItem: Item;
  readonly #placed = new Map<string, Placed>();
  readonly #failures = new Set<string>();

  constructor(root: KubeObject) {
    this.#rootItem = root;
    this.#root = nodeOf(root, root.resource.kind, "");
    this.#placed.set(this.#root.id, { item: root, node: this.#root, isBefore: false });
  }

  add({ question, items, total, error }: Answer): void {
    const { kind, isRelated, isBefore, relation, names } = question;
    if (error) this.#failures.add(`${kind}: ${error}`);
    const related = (items ?? []).filter(({ value }) => isRelated?.(value) ?? true);
    const shown = isRoute(kind) ? related : related.slice(0, mostOfKind);
    for (const item of shown) this.#place({ item, node: nodeOf(item, kind, relation), isBefore });
    if (names) this.#addMissing({ question, items, total, error });
    const rest = (isRelated || isRoute(kind) ? related.length : total) - shown.length;
    if (rest > 0) this.#place({ item: undefined, node: restNode(question, rest), isBefore });
  }

  build(): Graph {
    this.#removeRoutesElsewhere();
    const edges = new Map<string, GraphEdge>();
    const connect = (from: string, to: string): void => {
      if (from !== to) edges.set(`${from} ${to}`, { from, to });
    };
    const placed = [...this.#placed.values()];
    for (const each of placed)
      for (const from of this.#leadingTo(each)) connect(from, each.node.id);
    for (const { item, node } of placed)
      for (const to of this.#backends(item)) connect(node.id, to);
    this.#connectOthers(placed, edges, connect);
    const nodes = placed.map(({ node }) => node);
    return { nodes, edges: [...edges.values()], failures: [...this.#failures] };
  }

  /** Connects what has no arrow yet with the object of the graph. */
  #connectOthers(
    placed: readonly Placed[],
    edges: ReadonlyMap<string, GraphEdge>,
    connect: (from: string, to: string) => void,
  ): void {
    const all = [...edges.values()];
    const ends = new Set(all.map(({ to }) => to));
    const begins = new Set(all.map(({ from }) => from));
    for (const { node, isBefore } of placed) {
      if (node === this.#root) continue;
      const isRouteToService = isRoute(node.kind) && begins.has(node.id);
      if (isBefore && !isRouteToService && !(node.relation === "Owned by" && begins.has(node.id))) {
        connect(node.id, this.#root.id);
      }
      if (!isBefore && !ends.has(node.id)) connect(this.#root.id, node.id);
    }
  }

  #place(placed: Placed): void {
    if (!this.#placed.has(placed.node.id)) this.#placed.set(placed.node.id, placed);
  }

  /** Adds the objects that were named and are not there. */
  #addMissing({ question, items, error }: Answer): void {
    const { kind, relation, resource, isBefore, options, names = new Map() } = question;
    for (const [name, { optional }] of names as NonNullable<Question["names"]>) {
      if (items?.some((item) => item.name === name)) continue;
      const params = objectParams(resource, { namespace: options.namespace ?? "", name });
      const id = `${kind}/${options.namespace ?? ""}/${name}`;
      const status = missingStatus(items !== undefined, error, optional);
      this.#place({
        item: undefined,
        node: { id, kind, name, status, relation, params },
        isBefore,
      });
    }
  }

  /** Removes the ingresses and routes that lead to no service of the graph. */
  #removeRoutesElsewhere(): void {
    if (isRoute(this.#root.kind)) return;
    for (const [id, { item, node }] of this.#placed) {
      if (isRoute(node.kind) && this.#backends(item).length === 0) this.#placed.delete(id);
    }
  }

  /** The owners of an object that are in the graph. */
  #leadingTo({ item }: Placed): readonly string[] {
    if (!item) return [];
    return ownersOf(item)
      .map(({ kind, name }) => this.#idOf(kind, name))
      .filter((id) => id !== undefined);
  }

  /** The services of the graph to which an ingress or a route leads. */
  #backends(item: Item | undefined): readonly string[] {
    if (!item || !isRoute(item.resource.kind)) return [];
    return backendsOf(item.value)
      .map((name) => this.#idOf("Service", name))
      .filter((id) => id !== undefined);
  }

  #idOf(kind: string, name: string): string | undefined {
    const ids = [`${kind}/${this.#rootItem.namespace}/${name}`, `${kind}//${name}`];
    return ids.find((id) => this.#placed.has(id));
  }
}

function isRoute(kind: string): boolean {
  return kind === "Ingress" || kind === "HTTPRoute";
}

function nodeOf(item: Item, kind: string, relation: string): GraphNode {
  const { namespace, name, resource, value } = item;
  const params = objectParams(resourceName(resource), { namespace, name });
  const id = `${kind}/${namespace}/${name}`;
  return { id, kind, name, status: statusOf(kind, value), relation, params };
}

function restNode({ resource, kind, relation, table, id }: Question, rest: number): GraphNode {
  const status: NodeStatus = { tone: "neutral", text: "in the table" };
  const name = `and ${rest.toLocaleString("en")} more`;
  return {
    id: `rest ${id}`,
    kind,
    name,
    status,
    relation,
    ...(table && { table: { resource, search: table } }),
  };
}

function missingStatus(isRead: boolean, error: string | undefined, optional: boolean): NodeStatus {
  if (error) return { tone: "neutral", text: "cannot be read" };
  if (!isRead) return { tone: "neutral", text: "…" };
  return optional
    ? { tone: "neutral", text: "does not exist (optional)" }
    : { tone: "bad", text: "does not exist" };
}
