import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import {
  EventType,
  StatusSchema,
  type ObjectSchema,
  type PatchRequest,
  type ResourceService,
  type StatusCauseSchema,
  type WatchRequest,
  type WatchResponseSchema,
} from "@kubeconnect/client/proto";

type Batch = MessageInitShape<typeof WatchResponseSchema>;

/** A pod of the fake cluster. */
interface FakePod {
  metadata: {
    namespace: string;
    name: string;
    uid: string;
    resourceVersion: string;
    creationTimestamp: string;
    deletionTimestamp?: string;
    labels: Record<string, string>;
  };
  spec: { nodeName?: string; containers: { name: string }[] };
  status: { phase: string; containerStatuses: object[] };
}

const podResource = {
  group: "",
  version: "v1",
  kind: "Pod",
  plural: "pods",
  namespaced: true,
  protobufType: "k8s.io.api.core.v1.Pod",
};

const apps: [namespace: string, app: string, tier: string][] = [
  ["checkout", "cart", "frontend"],
  ["checkout", "payments", "backend"],
  ["checkout", "payments-worker", "backend"],
  ["kube-system", "coredns", "control-plane"],
  ["kube-system", "kube-proxy", "node"],
  ["monitoring", "prometheus", "metrics"],
  ["monitoring", "grafana", "frontend"],
  ["search", "indexer", "batch"],
  ["search", "query-router", "frontend"],
];

/** A fake cluster for the development of the page: pods that change, and patches of labels. */
export class FakeCluster {
  readonly #pods = new Map<string, FakePod>();
  readonly #watchers = new Set<(before: FakePod | undefined, after: FakePod) => void>();
  #version = 1000;

  constructor(count: number) {
    for (let i = 0; i < count; i++) this.#put(makePod(i));
  }

  readonly service: Partial<ServiceImpl<typeof ResourceService>> = {
    watch: (request, { signal }) => this.#watch(request, signal),
    patch: (request) => this.#patch(request),
  };

  /** Changes the state of a random pod. */
  live(): void {
    const pods = [...this.#pods.values()];
    const pod = pods[Math.floor(Math.random() * pods.length)];
    if (!pod) return;
    this.#put({ ...pod, ...stateOf(Math.floor(Math.random() * 40)) });
  }

  async *#watch({ labelSelector }: WatchRequest, signal: AbortSignal): AsyncGenerator<Batch> {
    const selects = parseSelector(labelSelector);
    const waiting: Batch[] = this.#snapshot(selects);
    let wake = (): void => undefined;
    const send = (batch: Batch): void => {
      waiting.push(batch);
      wake();
    };
    const change = (before: FakePod | undefined, after: FakePod): void => {
      const matched = before !== undefined && selects(before);
      const matches = selects(after);
      if (!matched && !matches) return;
      const type = !matched ? EventType.ADDED : matches ? EventType.MODIFIED : EventType.DELETED;
      send({ events: [eventOf(type, after)] });
    };
    this.#watchers.add(change);
    const bookmark = setInterval(() => {
      const resourceVersion = String(this.#version);
      send({ events: [{ type: EventType.BOOKMARK, resourceVersion }] });
    }, 3000);
    signal.addEventListener("abort", () => {
      wake();
    });
    try {
      while (!signal.aborted) {
        yield* waiting.splice(0);
        if (waiting.length === 0) await new Promise<void>((resolve) => (wake = resolve));
      }
    } finally {
      clearInterval(bookmark);
      this.#watchers.delete(change);
    }
  }

  #snapshot(selects: (pod: FakePod) => boolean): Batch[] {
    const pods = [...this.#pods.values()].filter(selects);
    const batches: Batch[] = [{ resource: podResource, events: [{ type: EventType.RESET }] }];
    for (let i = 0; i < pods.length; i += 500) {
      const events = pods.slice(i, i + 500).map((pod) => eventOf(EventType.ADDED, pod));
      batches.push({ events });
    }
    const resourceVersion = String(this.#version);
    batches.push({ events: [{ type: EventType.SYNCED, resourceVersion }] });
    return batches;
  }

  #patch({ namespace, name, body }: PatchRequest): ReturnType<typeof responseOf> {
    const pod = this.#pods.get(`${namespace}/${name}`);
    if (!pod) throw failure(Code.NotFound, "NotFound", `pods "${name}" not found`);
    const text = body.case === "data" ? new TextDecoder().decode(body.value) : "{}";
    const patch = JSON.parse(text) as { metadata: { labels: Record<string, string | null> } };
    const labels = { ...pod.metadata.labels };
    for (const [key, value] of Object.entries(patch.metadata.labels)) {
      if (value === null) {
        Reflect.deleteProperty(labels, key);
      } else {
        refuseInvalid(name, value);
        labels[key] = value;
      }
    }
    return responseOf(this.#put({ ...pod, metadata: { ...pod.metadata, labels } }));
  }

  #put(pod: FakePod): FakePod {
    const resourceVersion = String(++this.#version);
    const stored = { ...pod, metadata: { ...pod.metadata, resourceVersion } };
    const key = `${pod.metadata.namespace}/${pod.metadata.name}`;
    const before = this.#pods.get(key);
    this.#pods.set(key, stored);
    for (const change of this.#watchers) change(before, stored);
    return stored;
  }
}

function makePod(i: number): FakePod {
  const [namespace, app, tier] = apps[i % apps.length] ?? ["default", "web", "frontend"];
  const hash = ((i + 7) * 2654435761).toString(36).slice(-9);
  const old = (i * 7919) % 900_000;
  return {
    metadata: {
      namespace,
      name: `${app}-${hash}-${((i + 3) * 40503).toString(36).slice(-5).padStart(5, "x")}`,
      uid: `uid-${i}`,
      resourceVersion: "",
      creationTimestamp: new Date(Date.now() - old * 1000).toISOString(),
      labels: {
        "app.kubernetes.io/name": app,
        tier,
        "pod-template-hash": hash,
      },
    },
    ...stateOf(i),
  };
}

function stateOf(i: number): Pick<FakePod, "spec" | "status"> {
  const spec = {
    nodeName: `worker-${String(i % 12).padStart(2, "0")}`,
    containers: [{ name: "main" }],
  };
  const running = {
    name: "main",
    ready: true,
    restartCount: i % 11 === 3 ? 2 : 0,
    state: { running: {} },
  };
  switch (i % 20) {
    case 6:
      return {
        spec: { containers: spec.containers },
        status: { phase: "Pending", containerStatuses: [] },
      };
    case 11:
      return { spec, status: waiting("Running", "CrashLoopBackOff", 14) };
    case 15:
      return { spec, status: waiting("Pending", "ContainerCreating", 0) };
    case 17:
      return { spec, status: { phase: "Succeeded", containerStatuses: [completed] } };
    default:
      return { spec, status: { phase: "Running", containerStatuses: [running] } };
  }
}

const completed = {
  name: "main",
  ready: false,
  restartCount: 0,
  state: { terminated: { reason: "Completed", exitCode: 0 } },
};

function waiting(phase: string, reason: string, restartCount: number): FakePod["status"] {
  const status = { name: "main", ready: false, restartCount, state: { waiting: { reason } } };
  return { phase, containerStatuses: [status] };
}

function objectOf(pod: FakePod): MessageInitShape<typeof ObjectSchema> {
  const { namespace, name, uid, resourceVersion } = pod.metadata;
  const value = new TextEncoder().encode(JSON.stringify({ apiVersion: "v1", kind: "Pod", ...pod }));
  return { namespace, name, uid, resourceVersion, content: { case: "json", value } };
}

function eventOf(type: EventType, pod: FakePod): NonNullable<Batch["events"]>[number] {
  return { type, object: objectOf(pod), resourceVersion: pod.metadata.resourceVersion };
}

function responseOf(pod: FakePod): {
  resource: typeof podResource;
  object: MessageInitShape<typeof ObjectSchema>;
} {
  return { resource: podResource, object: objectOf(pod) };
}

/** Parses a label selector. Supports only "key=value", with commas. */
function parseSelector(selector: string): (pod: FakePod) => boolean {
  const terms = selector.split(",").filter((term) => term !== "");
  const pairs = terms.map((term) => /^([\w./-]+)==?([\w.-]*)$/.exec(term));
  if (pairs.includes(null)) {
    const message = `unable to parse requirement: found '${selector}', expected: in, notin, =, ==, !=, gt, lt`;
    throw failure(Code.InvalidArgument, "BadRequest", message);
  }
  return ({ metadata }) => pairs.every((pair) => metadata.labels[pair?.[1] ?? ""] === pair?.[2]);
}

function refuseInvalid(name: string, value: string): void {
  if (/^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/.test(value)) return;
  const wrong =
    `Invalid value: "${value}": a valid label must be an empty string or consist of ` +
    "alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";
  throw failure(
    Code.InvalidArgument,
    "Invalid",
    `Pod "${name}" is invalid: metadata.labels: ${wrong}`,
    [{ reason: "FieldValueInvalid", message: wrong, field: "metadata.labels" }],
  );
}

function failure(
  code: Code,
  reason: string,
  message: string,
  causes: MessageInitShape<typeof StatusCauseSchema>[] = [],
): ConnectError {
  const error = new ConnectError(message, code);
  error.details.push({
    desc: StatusSchema,
    value: create(StatusSchema, { reason, message, causes }),
  });
  return error;
}
