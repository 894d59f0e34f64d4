import { create, type MessageInitShape } from "@bufbuild/protobuf";
import {
  createRouterTransport,
  type HandlerContext,
  type ServiceImpl,
  type Transport,
} from "@connectrpc/connect";
import { createClient, KubeconnectError, type Client, type LiveStore } from "../src/index.js";
import {
  AccessService,
  DiscoveryService,
  PodService,
  ResourceService,
  WatchRequestSchema,
  type WatchCountsRequest,
  type WatchCountsResponseSchema,
  type WatchManyRequest,
  type WatchManyResponseSchema,
  type WatchRequest,
  type WatchResponseSchema,
  type WatchSpec,
} from "../src/proto.js";

/** Creates a client of services with these methods. All other methods are unimplemented. */
export function clientOf(
  resources: Partial<ServiceImpl<typeof ResourceService>>,
  discovery: Partial<ServiceImpl<typeof DiscoveryService>> = {},
): Client {
  return createClient(
    createRouterTransport(({ service: serve }) => {
      serve(ResourceService, resources);
      serve(DiscoveryService, discovery);
    }),
  );
}

/** Creates a client of an access service with these methods. */
export function accessClientOf(access: Partial<ServiceImpl<typeof AccessService>>): Client {
  return createClient(
    createRouterTransport(({ service: serve }) => {
      serve(AccessService, access);
    }),
  );
}

/**
 * Returns what a watch that does not reconnect yields until the service ends its stream, as seen
 * at the time.
 */
export async function untilEnd<T, R = T>(
  stream: AsyncIterable<T>,
  see: (item: T) => R = (item) => item as unknown as R,
): Promise<R[]> {
  const seen: R[] = [];
  try {
    for await (const item of stream) seen.push(see(item));
  } catch (error) {
    const isEnd = error instanceof KubeconnectError && error.message === ended;
    if (!isEnd) throw error;
  }
  return seen;
}

const ended = "the service ended the stream";

/** Creates a client of a pod service with these methods. */
export function podsClientOf(pods: Partial<ServiceImpl<typeof PodService>>): Client {
  return createClient(podsTransport(pods));
}

/** Creates a transport to a pod service with these methods. */
export function podsTransport(pods: Partial<ServiceImpl<typeof PodService>>): Transport {
  return createRouterTransport(({ service: serve }) => {
    serve(PodService, pods);
  });
}

export const podResource = {
  group: "",
  version: "v1",
  kind: "Pod",
  plural: "pods",
  namespaced: true,
  protobufType: "k8s.io.api.core.v1.Pod",
};

/** Returns a pod in the format of the service. */
export function pod(name: string, resourceVersion = "1", uid = `uid-${name}`) {
  const value = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { namespace: "default", name, uid, resourceVersion, labels: { app: name } },
  };
  return {
    namespace: "default",
    name,
    uid,
    resourceVersion,
    content: { case: "json" as const, value: new TextEncoder().encode(JSON.stringify(value)) },
  };
}

const end = Symbol("the end of a stream");

/** A stream that a client has opened at a fake service, whose messages a test sends. */
export class FakeStream<Request, Response> {
  readonly request: Request;
  /** Resolves when the client has closed the stream. */
  readonly closed: Promise<void>;
  /** Resolves when the test has ended the stream with an error, and all before it was read. */
  readonly ended: Promise<void>;
  readonly #queue: (Response | Error | typeof end)[] = [];
  #end = (): void => undefined;
  #wake = (): void => undefined;

  constructor(request: Request, signal: AbortSignal) {
    this.request = request;
    this.ended = new Promise((resolve) => (this.#end = resolve));
    this.closed = new Promise((resolve) => {
      signal.addEventListener("abort", () => {
        this.#wake();
        resolve();
      });
    });
  }

  send(...responses: (Response | Error)[]): void {
    this.#queue.push(...responses);
    this.#wake();
  }

  /** Ends the stream without an error. */
  end(): void {
    this.#queue.push(end);
    this.#wake();
  }

  /** Yields what the test sends, and throws the errors. */
  async *messages(signal: AbortSignal): AsyncGenerator<Response, void, undefined> {
    while (!signal.aborted) {
      const message = this.#queue.shift();
      if (message === end) return;
      if (message instanceof Error) {
        this.#end();
        throw message;
      }
      if (message !== undefined) yield message;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}

/** The streams that a client opens at a fake service, in order. */
export class FakeStreams<Request, Response> {
  readonly #opened: FakeStream<Request, Response>[] = [];
  #wake = (): void => undefined;

  /** The method of the service. */
  readonly open = (request: Request, { signal }: HandlerContext): AsyncIterable<Response> => {
    const stream = new FakeStream<Request, Response>(request, signal);
    this.#opened.push(stream);
    this.#wake();
    return stream.messages(signal);
  };

  /** The number of streams that were opened and not returned by `next` yet. */
  get waiting(): number {
    return this.#opened.length;
  }

  /** Returns the next stream, when the client has opened it. */
  async next(): Promise<FakeStream<Request, Response>> {
    for (;;) {
      const stream = this.#opened.shift();
      if (stream) return stream;
      await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}

type Method<Request, Response> = (
  request: Request,
  context: HandlerContext,
) => AsyncIterable<Response>;
type ManyMethod = Method<WatchManyRequest, MessageInitShape<typeof WatchManyResponseSchema>>;

/** Returns the WatchMany of a service whose clients have one live store, of a watch. */
export function oneWatch(
  watch: Method<WatchRequest, MessageInitShape<typeof WatchResponseSchema>>,
): ManyMethod {
  return async function* ({ watches: [spec] }, context) {
    const fields = spec as Omit<WatchSpec, "$typeName"> | undefined;
    const resumeToken = spec?.ownResumeToken ?? "";
    const request = create(WatchRequestSchema, { ...fields, resumeToken });
    for await (const response of watch(request, context)) yield { response };
  };
}

/** Returns the WatchMany of a service whose clients have one live store, of counts. */
export function oneCounts(
  watchCounts: Method<WatchCountsRequest, MessageInitShape<typeof WatchCountsResponseSchema>>,
): ManyMethod {
  return async function* ({ counts: [request] }, context) {
    if (request === undefined) throw new Error("there are no counts");
    for await (const counts of watchCounts(request, context)) yield { counts };
  };
}

/** Waits until a condition is true of a store, and returns its snapshot. */
export async function until<S extends object, L extends LiveStore<S>>(
  store: L & LiveStore<S>,
  condition: (store: L) => boolean,
): Promise<S | undefined> {
  let unsubscribe = (): void => undefined;
  try {
    return await new Promise((resolve) => {
      unsubscribe = store.subscribe((snapshot) => {
        if (condition(store)) resolve(snapshot);
      });
    });
  } finally {
    unsubscribe();
  }
}
