import { create, fromJson, type MessageInitShape } from "@bufbuild/protobuf";
import { ValueSchema } from "@bufbuild/protobuf/wkt";
import { EditorView } from "@codemirror/view";
import { Code, ConnectError, createRouterTransport, type Transport } from "@connectrpc/connect";
import { createClient, type Client, type KubeObject } from "@kubeconnect/client";
import { KubeconnectProvider } from "@kubeconnect/client/react";
import { createMemoryHistory, RouterProvider } from "@tanstack/react-router";
import {
  act,
  cleanup,
  configure,
  fireEvent,
  render,
  screen,
  waitFor,
  within,
} from "@testing-library/react";
import type { ReactNode } from "react";
import { afterEach, beforeEach, vi } from "vitest";
import { parse } from "yaml";
import {
  AccessService,
  DiscoveryService,
  EventType,
  FailedGroupVersionSchema,
  ListResourceTypesResponseSchema,
  PodService,
  ResourceService,
  type AccessCheck,
  type CreateRequest,
  type DeleteRequest,
  type GetLogLinesRequest,
  type GetLogLinesResponseSchema,
  type ListRequest,
  type PatchRequest,
  type StatusSchema,
  type UpdateRequest,
  type WatchCountsRequest,
  type WatchManyRequest,
  type WatchManyResponseSchema,
  type WatchSpec,
} from "../../ts/src/proto.js";
import { FakeStreams } from "../../ts/test/fixture.js";
import { SessionProvider, type Connect } from "../src/session/session.js";
import { createAppRouter } from "../src/shell/router.js";

configure({ asyncUtilTimeout: 10_000 }); // only a failing test waits so long

/** The size of everything on the page: happy-dom has no layout. */
const size = { width: 1200, height: 600 };

class FakeResizeObserver {
  readonly #callback: () => void;

  constructor(callback: (entries: readonly never[]) => void) {
    this.#callback = () => {
      callback([]);
    };
  }

  observe(): void {
    queueMicrotask(this.#callback);
  }

  unobserve(): void {
    // nothing is resized
  }

  disconnect(): void {
    // nothing is resized
  }
}

beforeEach(() => {
  localStorage.clear();
  vi.stubGlobal("ResizeObserver", FakeResizeObserver);
  vi.stubGlobal("fetch", () => Promise.resolve(Response.json({})));
  for (const name of ["offsetHeight", "clientHeight"] as const) {
    vi.spyOn(HTMLElement.prototype, name, "get").mockReturnValue(size.height);
  }
  vi.spyOn(HTMLElement.prototype, "offsetWidth", "get").mockReturnValue(size.width);
});

afterEach(() => {
  cleanup();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

/** A value of a Kubernetes object. */
interface Value {
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly [field: string]: unknown;
  };
  readonly [field: string]: unknown;
}

/** A resource type: its group, version, kind, whether it is namespaced, and its short names. */
const kinds = {
  pods: ["", "v1", "Pod", true],
  nodes: ["", "v1", "Node", false],
  namespaces: ["", "v1", "Namespace", false],
  events: ["", "v1", "Event", true],
  services: ["", "v1", "Service", true],
  secrets: ["", "v1", "Secret", true],
  configmaps: ["", "v1", "ConfigMap", true],
  "deployments.apps": ["apps", "v1", "Deployment", true],
  "replicasets.apps": ["apps", "v1", "ReplicaSet", true],
  "cronjobs.batch": ["batch", "v1", "CronJob", true],
  "jobs.batch": ["batch", "v1", "Job", true],
} as const;

/** The short names of types, which an address can have. */
const shortNames: Readonly<Record<string, string>> = { po: "pods" };

const verbs = ["get", "list", "watch", "create", "update", "patch", "delete"];

function resourceOf(name: string) {
  const full = shortNames[name] ?? name;
  const known = Object.entries(kinds).find(([each]) => each === full);
  const [group, version, kind, namespaced] = known?.[1] ?? ["", "v1", full, true];
  return { group, version, kind, plural: full.split(".")[0] ?? full, namespaced };
}

type Status = MessageInitShape<typeof StatusSchema>;
type ManyResponse = MessageInitShape<typeof WatchManyResponseSchema>;
type Objects = readonly Value[];

/**
 * A service in this process with the objects that a test gives it. It selects by namespace and name
 * only: a test of what else a view asks for looks at the requests.
 */
export class FakeService {
  /** The only token that is accepted; undefined if no token is needed. */
  token: string | undefined;
  username = "ann";
  /** Why the caller may not do something; undefined if it may. */
  denied: (check: AccessCheck) => string | undefined = () => undefined;
  /** What every change fails with. */
  failure: ConnectError | undefined;
  /** What asking who the caller is, and for the types, fails with. */
  unready: ConnectError | undefined;
  /** The API groups whose types are missing. */
  missing: readonly MessageInitShape<typeof FailedGroupVersionSchema>[] = [];
  /** How often clients have asked who the caller is. */
  identified = 0;
  readonly watched: WatchSpec[] = [];
  readonly counted: WatchCountsRequest[] = [];
  readonly listed: ListRequest[] = [];
  readonly created: CreateRequest[] = [];
  readonly patched: PatchRequest[] = [];
  readonly updated: UpdateRequest[] = [];
  readonly deleted: DeleteRequest[] = [];
  readonly logs = new FakeStreams<
    GetLogLinesRequest,
    MessageInitShape<typeof GetLogLinesResponseSchema>
  >();
  readonly #objects = new Map<string, Objects>();
  readonly #refused = new Map<string, Status>();
  #lost: ConnectError | undefined;
  #isStale = false;
  #interruptions = 0;
  #version = 1;
  #changes = new Set<() => void>();

  /** Replaces the objects of a resource. */
  set(resource: keyof typeof kinds, ...objects: Objects): void {
    this.#objects.set(resource, objects);
    this.#changed();
  }

  /** Refuses to read a resource, or no longer. */
  refuse(resource: string, status: Status | undefined): void {
    if (status) this.#refused.set(resource, status);
    else this.#refused.delete(resource);
    this.#changed();
  }

  /** Ends all streams, and lets no stream be opened until it is called without an error. */
  lose(error: ConnectError | undefined): void {
    this.#lost = error;
    this.#changed();
  }

  /** Says from now on that the API server cannot be reached. */
  becomeStale(): void {
    this.#isStale = true;
    this.#changed();
  }

  /** Ends all streams, which can be opened again at once. */
  interrupt(): void {
    this.#interruptions++;
    this.#changed();
  }

  /** Creates clients of the service, as those of a page. */
  readonly connect: Connect = ({ token, interceptors = [] } = {}) =>
    createClient(
      this.#transport([
        ...interceptors,
        (next) => async (request) => {
          const text = typeof token === "function" ? await token() : token;
          if (text) request.header.set("authorization", `Bearer ${text}`);
          return next(request);
        },
      ]),
    );

  #transport(interceptors: NonNullable<Parameters<Connect>[0]>["interceptors"]): Transport {
    return createRouterTransport(
      ({ service }) => {
        service(AccessService, {
          whoAmI: (_, { requestHeader }) => {
            this.identified++;
            if (this.unready) throw this.unready;
            this.#authenticate(requestHeader);
            return { username: this.username, groups: ["system:authenticated"] };
          },
          checkAccess: ({ checks }) => ({
            decisions: checks.map((check) => {
              const reason = this.denied(check);
              return { allowed: reason === undefined, reason: reason ?? "" };
            }),
          }),
        });
        service(DiscoveryService, {
          listResourceTypes: () => {
            if (this.unready) throw this.unready;
            return create(ListResourceTypesResponseSchema, {
              failedGroupVersions: [...this.missing],
              resourceTypes: Object.keys(kinds).map((name) => {
                const resource = resourceOf(name);
                const objectCount = BigInt(this.#select(name, "").length);
                const cache = { running: objectCount > 0n, synced: true, objectCount };
                return { resource, singular: resource.kind.toLowerCase(), verbs, cache };
              }),
            });
          },
          getSchema: ({ resource }) => ({
            resource: resourceOf(resource),
            schema: {
              type: "object",
              properties: {
                spec: {
                  type: "object",
                  properties: { hostname: { type: "string" }, nodeName: { type: "string" } },
                },
              },
            },
          }),
        });
        service(PodService, { getLogLines: this.logs.open });
        service(ResourceService, {
          watchMany: (request, { requestHeader, signal }) => {
            this.#authenticate(requestHeader);
            return this.#watch(request, signal);
          },
          count: ({ resource, namespace }) => {
            this.#checkReadable(resource);
            const totalCount = BigInt(this.#select(resource, namespace).length);
            return { resource: resourceOf(resource), totalCount };
          },
          list: (request) => {
            this.listed.push(request);
            this.#checkReadable(request.resource);
            const objects = this.#select(request.resource, request.namespace);
            return {
              resource: resourceOf(request.resource),
              objects: objects.map((each) => this.#message(each)),
            };
          },
          get: ({ resource, namespace, name }) => this.#response(resource, namespace, name),
          create: (request) => {
            this.created.push(request);
            this.#checkChangeable();
            return this.#response(request.resource, request.namespace, request.name);
          },
          patch: (request) => {
            if (!request.dryRun) this.patched.push(request);
            this.#checkChangeable();
            return this.#response(request.resource, request.namespace, request.name);
          },
          update: (request) => {
            this.updated.push(request);
            this.#checkChangeable();
            const object = this.#message(bodyOf(request) as Value);
            return { resource: resourceOf(request.resource), object };
          },
          delete: (request) => {
            this.deleted.push(request);
            this.#checkChangeable();
            return this.#response(request.resource, request.namespace, request.name);
          },
        });
      },
      { transport: { interceptors: interceptors ?? [] } },
    );
  }

  #authenticate(header: Headers): void {
    if (this.token === undefined || header.get("authorization") === `Bearer ${this.token}`) return;
    throw new ConnectError("the token is not accepted", Code.Unauthenticated);
  }

  #checkReadable(resource: string): void {
    const status = this.#refused.get(resource);
    if (!status) return;
    const code = status.code === 400 ? Code.InvalidArgument : Code.PermissionDenied;
    throw new ConnectError(status.message ?? "", code);
  }

  #checkChangeable(): void {
    if (this.failure) throw this.failure;
  }

  #select(resource: string, namespace: string, name = ""): Objects {
    const objects = this.#objects.get(shortNames[resource] ?? resource) ?? [];
    return objects.filter(
      ({ metadata }) =>
        (namespace === "" || metadata.namespace === namespace) &&
        (name === "" || metadata.name === name),
    );
  }

  #response(resource: string, namespace: string, name: string) {
    const [object] = this.#select(resource, namespace, name);
    if (!object) throw new ConnectError(`${resource} "${name}" not found`, Code.NotFound);
    return { resource: resourceOf(resource), object: this.#message(object) };
  }

  #message(value: Value) {
    const { name, namespace = "" } = value.metadata;
    const json = new TextEncoder().encode(JSON.stringify(value));
    const resourceVersion = String(this.#version);
    const content = { case: "json" as const, value: json };
    return { namespace, name, uid: `uid-${name}`, resourceVersion, content };
  }

  async *#watch(request: WatchManyRequest, signal: AbortSignal): AsyncGenerator<ManyResponse> {
    this.watched.push(...request.watches);
    this.counted.push(...request.counts);
    let sent = new Map<string, string>();
    const interruptions = this.#interruptions;
    while (!signal.aborted) {
      if (this.#lost) throw this.#lost;
      if (this.#interruptions > interruptions) throw new ConnectError("ended", Code.Unavailable);
      const now = new Map<string, string>();
      const changed = new Promise<void>((resolve) => this.#changes.add(resolve));
      for (const [index, spec] of [...request.watches, ...request.counts].entries()) {
        const response = this.#snapshot(index, spec);
        const text = JSON.stringify(response, (_, each: unknown) =>
          typeof each === "bigint" || each instanceof Uint8Array ? String(each) : each,
        );
        now.set(`${index}`, text);
        if (sent.get(`${index}`) !== text) yield response;
      }
      sent = now;
      const left = new Promise<void>((resolve) => {
        signal.addEventListener("abort", () => {
          resolve();
        });
      });
      await Promise.race([changed, left]);
    }
  }

  /** Returns the whole state of a watch, or of counts. */
  #snapshot(watchIndex: number, spec: WatchSpec | WatchCountsRequest): ManyResponse {
    const error = this.#refused.get(spec.resource);
    if (error) return { watchIndex, error };
    const resource = resourceOf(spec.resource);
    const name = "name" in spec ? spec.name : "";
    const objects = this.#select(spec.resource, spec.namespace, name);
    const totalCount = BigInt(objects.length);
    const freshness = { stale: this.#isStale };
    if ("groupBy" in spec) {
      const groups = groupsOf(objects, spec.groupBy);
      return { watchIndex, counts: { resource, reset: true, totalCount, groups, freshness } };
    }
    const events = [
      { type: EventType.RESET },
      ...objects.map((each, index) => ({
        type: EventType.ADDED,
        object: this.#message(each),
        ...(spec.limit > 0 && { index }),
      })),
      { type: EventType.SYNCED, resourceVersion: "1" },
    ];
    const page = spec.limit > 0 ? { totalCount, offset: 0n, resourceVersion: "1" } : undefined;
    const response = {
      resource,
      events,
      resumeToken: "token",
      freshness,
      ...(page && { page }),
    };
    return { watchIndex, response };
  }

  #changed(): void {
    this.#version++;
    const waiting = [...this.#changes];
    this.#changes = new Set();
    for (const wake of waiting) wake();
  }
}

/** Counts objects by the values at paths, as the service does. */
function groupsOf(objects: Objects, paths: readonly string[]) {
  if (paths.length === 0) return [];
  const counts = new Map<string, number>();
  for (const object of objects) {
    const key = JSON.stringify(paths.map((path) => at(object, path)));
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts].map(([key, count]) => ({
    values: (JSON.parse(key) as (string | null)[]).map((each) => fromJson(ValueSchema, each)),
    count: BigInt(count),
  }));
}

function at(object: unknown, path: string): string | null {
  const value = path
    .split(".")
    .reduce((each, step) => (each as Record<string, unknown> | undefined)?.[step], object);
  return typeof value === "string" ? value : null;
}

/** Returns a running pod. */
export function podValue(name: string, change: { phase?: string; labels?: object } = {}): Value {
  const { phase = "Running", labels = { app: "web" } } = change;
  return {
    metadata: { name, namespace: "shop", creationTimestamp: "2026-01-01T00:00:00Z", labels },
    spec: { nodeName: "node-1", containers: [{ name: "main", image: "web" }] },
    status: { phase, conditions: [{ type: "Ready", status: "True" }] },
  };
}

/** Returns a deployment with as many ready pods. */
export function deploymentValue(name: string, replicas = 2): Value {
  return {
    metadata: { name, namespace: "shop", labels: { app: name } },
    spec: { replicas, selector: { matchLabels: { app: name } }, template: {} },
    status: { replicas, readyReplicas: replicas, updatedReplicas: replicas },
  };
}

/** Returns the value as an object of the client. */
export function objectOf(resource: keyof typeof kinds, value: Value): KubeObject {
  const { name, namespace = "" } = value.metadata;
  const identity = { key: `${namespace}/${name}`, name, namespace, uid: `uid-${name}` };
  const object = { ...identity, resource: resourceOf(resource), resourceVersion: "1", value };
  return object as unknown as KubeObject;
}

/** Renders a component that needs a client only. */
export function renderWith(service: FakeService, children: ReactNode): Client {
  const client = service.connect();
  render(<KubeconnectProvider client={client}>{children}</KubeconnectProvider>);
  return client;
}

/** Renders the whole page at an address, and returns its history. */
export function renderPage(service: FakeService, address: string) {
  const history = createMemoryHistory({ initialEntries: [address] });
  const router = createAppRouter(history);
  render(
    <SessionProvider signIn={undefined} connect={service.connect}>
      <RouterProvider router={router} />
    </SessionProvider>,
  );
  return history;
}

/** Lets what the service has sent arrive, and be rendered. */
export async function settle(): Promise<void> {
  await act(async () => {
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
  });
}

/** Types a text into an input. */
export function type(element: HTMLElement, text: string): void {
  fireEvent.change(element, { target: { value: text } });
}

/** Presses a key at the element that has the focus. */
export function press(key: string, options: object = {}): void {
  fireEvent.keyDown(document.activeElement ?? document.body, { key, ...options });
}

/** Clicks the button with a name, as soon as there is one. */
export async function click(name: string | RegExp): Promise<void> {
  fireEvent.click(await screen.findByRole("button", { name }));
}

/** Returns the body of a change, which is JSON or YAML. */
export function bodyOf(request: CreateRequest | PatchRequest | UpdateRequest): unknown {
  const { case: kind, value } = request.body;
  if (kind === "data") return parse(new TextDecoder().decode(value));
  throw new Error(`the body is ${kind ?? "empty"}`);
}

/** Opens the palette, types a text, and returns the first entry when it begins with a label. */
export async function search(text: string, label: string): Promise<HTMLElement> {
  press("k", { ctrlKey: true });
  type(screen.getByRole("combobox", { name: /^Go to a type/ }), text);
  const list = screen.getByRole("listbox", { name: "Found" });
  return waitFor(() => {
    const first = within(list).getAllByRole("option")[0];
    if (!first?.textContent.startsWith(label)) throw new Error(`${label} is not found`);
    return first;
  });
}

/** Returns the editor, which is in a shadow root. */
export function shownEditor(): EditorView {
  const host = [...document.querySelectorAll("div")].find(({ shadowRoot }) => shadowRoot);
  const content = host?.shadowRoot?.querySelector<HTMLElement>(".cm-content");
  const editor = content && EditorView.findFromDOM(content);
  if (!editor) throw new Error("there is no editor");
  return editor;
}
