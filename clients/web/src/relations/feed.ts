import { Code, type Client, type KubeObject, type LivePage } from "@kubeconnect/client";
import { buildGraph, questionsOf, type Answer, type Graph } from "./graph.js";
import type { Kinds, Question } from "./questions.js";

/** The graph, and whether all of it was read. */
export interface GraphState {
  readonly graph: Graph;
  readonly loaded: boolean;
  readonly stale: boolean;
}

/** A page that is followed for a question. */
interface Followed {
  readonly question: Question;
  readonly page: LivePage;
  readonly unsubscribe: () => void;
}

/**
 * Keeps the graph of an object current. Each question is a live page, all on the client's one
 * stream. Answers that arrive together make one new graph.
 */
export class GraphFeed {
  readonly #client: Client;
  readonly #kinds: Kinds;
  readonly #listeners = new Set<() => void>();
  readonly #followed = new Map<string, Followed>();
  #root: KubeObject;
  #state: GraphState;
  #isScheduled = false;

  constructor(client: Client, root: KubeObject, kinds: Kinds) {
    this.#client = client;
    this.#root = root;
    this.#kinds = kinds;
    this.#state = { graph: buildGraph(root, []), loaded: false, stale: false };
  }

  /** Calls the listener after each change of the graph. Needs no `this`. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    this.#schedule();
    return () => {
      this.#listeners.delete(listener);
      if (this.#listeners.size === 0) this.#leaveAll();
    };
  };

  /** Returns the graph. Needs no `this`. */
  readonly getSnapshot = (): GraphState => this.#state;

  /** Replaces the object by a newer version. */
  update(root: KubeObject): void {
    if (root === this.#root) return;
    this.#root = root;
    if (this.#listeners.size > 0) this.#schedule();
  }

  readonly #schedule = (): void => {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setTimeout(() => {
      this.#isScheduled = false;
      if (this.#listeners.size > 0) this.#refresh();
    }, 50);
  };

  #refresh(): void {
    const answers = new Map([...this.#followed].map(([id, each]) => [id, answerOf(each)]));
    const questions = questionsOf(this.#root, this.#kinds, answers);
    this.#follow(questions);
    const known = questions.map((question) => answers.get(question.id) ?? unread(question));
    const stale = [...this.#followed.values()].some(({ page }) => page.freshness?.stale);
    const loaded = known.every(({ items, error }) => items !== undefined || error !== undefined);
    this.#state = { graph: buildGraph(this.#root, known), loaded, stale };
    for (const listener of [...this.#listeners]) listener();
  }

  /** Opens the pages of new questions, and leaves those that are not asked any more. */
  #follow(questions: readonly Question[]): void {
    const wanted = new Set(questions.map(({ id }) => id));
    for (const [id, { unsubscribe }] of this.#followed) {
      if (wanted.has(id)) continue;
      unsubscribe();
      this.#followed.delete(id);
    }
    for (const question of questions) {
      if (this.#followed.has(question.id)) continue;
      const page = this.#client.livePage(question.resource, question.options);
      const unsubscribe = page.subscribe(this.#schedule);
      this.#followed.set(question.id, { question, page, unsubscribe });
    }
  }

  #leaveAll(): void {
    for (const { unsubscribe } of this.#followed.values()) unsubscribe();
    this.#followed.clear();
  }
}

function unread(question: Question): Answer {
  return { question, items: undefined, total: 0 };
}

function answerOf({ question, page: { snapshot, error } }: Followed): Answer {
  const { items, total = 0 } = snapshot ?? {};
  // The cluster need not have all kinds, such as routes.
  if (error?.code === Code.NotFound) return { question, items: [], total: 0 };
  return { question, items, total, ...(error && { error: error.message }) };
}
