import assert from "node:assert/strict";
import { createServer as createHttpServer } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { after, afterEach, before, beforeEach, suite, test } from "node:test";
import type { Interceptor } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import {
  context,
  createTraceState,
  diag,
  propagation,
  trace,
  type Context,
  type TextMapPropagator,
} from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  CompositePropagator,
  W3CBaggagePropagator,
  W3CTraceContextPropagator,
} from "@opentelemetry/core";
import { StackContextManager } from "@opentelemetry/sdk-trace-web";
import type { Client, LiveStore, StreamOptions } from "../src/index.js";
import { connect as connectNode } from "../src/node.js";
import { AccessService, EventType, PodService, ResourceService } from "../src/proto.js";
import { connect as connectWeb } from "../src/web.js";
import { podResource, until } from "./fixture.js";

interface ServiceCall {
  readonly method: string;
  readonly header: Headers;
  /** The tokens at which the call resumes. */
  readonly resumeTokens: readonly string[];
}

/** A service that records the calls that it receives. */
class Recorder {
  readonly calls: ServiceCall[] = [];

  /** Returns the trace headers of the calls, in order. */
  get sent(): TraceHeaders[] {
    return this.calls.map(({ header }) => traceHeaders(header));
  }

  readonly handler = connectNodeAdapter({
    routes: ({ service }) => {
      service(AccessService, {
        whoAmI: (_, { requestHeader }) => {
          this.#record("WhoAmI", requestHeader);
          return { username: "alice" };
        },
      });
      service(PodService, {
        getLogs: (_, { requestHeader }) => {
          this.#record("GetLogs", requestHeader);
          return oneOf({ data: new TextEncoder().encode("line\n") });
        },
      });
      service(ResourceService, {
        list: ({ pageToken }, { requestHeader }) => {
          this.#record("List", requestHeader);
          return { resource: podResource, nextPageToken: pageToken === "" ? "page-2" : "" };
        },
        watch: ({ resumeToken }, { requestHeader }) => {
          const count = this.#record("Watch", requestHeader, resumeToken);
          return oneOf({ resource: podResource, events: [reset], resumeToken: `after-${count}` });
        },
        watchMany: ({ watches }, { requestHeader, signal }) => {
          const tokens = watches.map(({ ownResumeToken }) => ownResumeToken);
          const count = this.#record("WatchMany", requestHeader, ...tokens);
          return snapshots(watches.length, `after-${count}`, signal);
        },
      });
    },
  });

  #record(method: string, header: Headers, ...resumeTokens: string[]): number {
    return this.calls.push({ method, header, resumeTokens });
  }
}

const reset = { type: EventType.RESET };
const synced = { type: EventType.SYNCED, resourceVersion: "9" };

/** A stream that the service ends after its first message. */
// eslint-disable-next-line @typescript-eslint/require-await -- a stream that never waits
async function* oneOf<M>(message: M): AsyncGenerator<M, void, undefined> {
  yield message;
}

/** A stream with the snapshots of several watches, which remains open. */
async function* snapshots(count: number, resumeToken: string, signal: AbortSignal) {
  for (let watchIndex = 0; watchIndex < count; watchIndex++) {
    const events = [reset, synced];
    yield { watchIndex, response: { resource: podResource, events, resumeToken } };
  }
  await new Promise((resolve) => {
    signal.addEventListener("abort", resolve);
  });
}

interface TraceHeaders {
  readonly traceparent: string | null;
  readonly tracestate: string | null;
  readonly baggage: string | null;
}

function traceHeaders(header: Headers): TraceHeaders {
  const [traceparent, tracestate, baggage] = ["traceparent", "tracestate", "baggage"].map((name) =>
    header.get(name),
  );
  return { traceparent, tracestate, baggage } as TraceHeaders;
}

const none: TraceHeaders = { traceparent: null, tracestate: null, baggage: null };

/** Returns a context with a span, and with baggage, and the headers to send of it. */
function spanContext(number: number): [Context, TraceHeaders] {
  const id = String(number);
  const [traceId, spanId] = [id.padStart(32, "a"), id.padStart(16, "b")];
  const traceState = createTraceState(`vendor=${id}`);
  const span = trace.wrapSpanContext({ traceId, spanId, traceFlags: 1, traceState });
  return [
    trace.setSpan(withBaggage, span),
    { traceparent: `00-${traceId}-${spanId}-01`, tracestate: `vendor=${id}`, baggage: null },
  ];
}

const withBaggage = propagation.setBaggage(
  context.active(),
  propagation.createBaggage({ user: { value: "alice" } }),
);

const [active, expected] = spanContext(1);

/** The propagators that are the default of the SDKs of OpenTelemetry. */
const defaultPropagators = () =>
  new CompositePropagator({
    propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()],
  });

function usePropagator(inject: TextMapPropagator["inject"]): void {
  propagation.disable();
  propagation.setGlobalPropagator({ inject, extract: (extracted) => extracted, fields: () => [] });
}

/** A client of one of the transports, and the service that it calls. */
interface Connection {
  readonly client: Client;
  readonly recorder: Recorder;
  close(): void;
}

type Connect = (interceptors?: Interceptor[]) => Promise<Connection>;

async function overHttp2(
  protocol: "grpc" | "connect",
  interceptors: Interceptor[] = [],
): Promise<Connection> {
  const recorder = new Recorder();
  const server = createHttp2Server(recorder.handler);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const client = connectNode(`http://127.0.0.1:${port}`, { protocol, interceptors });
  const close = () => {
    client.close();
    server.close();
  };
  return { client, recorder, close };
}

async function overFetch(interceptors: Interceptor[] = []): Promise<Connection> {
  const recorder = new Recorder();
  const server = createHttpServer(recorder.handler);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.closeAllConnections();
    server.close();
  };
  return { client: connectWeb(`http://127.0.0.1:${port}`, { interceptors }), recorder, close };
}

const connects: Readonly<Record<string, Connect>> = {
  "Node.js by grpc": (interceptors) => overHttp2("grpc", interceptors),
  "Node.js by connect": (interceptors) => overHttp2("connect", interceptors),
  browsers: overFetch,
};

/** Reads a watch until it has been opened several times. */
async function readStreams(client: Client, count: number, options: StreamOptions = {}) {
  let opened = 0;
  for await (const { type } of client.watch("pods", {
    ...options,
    sleep: () => Promise.resolve(),
  })) {
    assert.equal(type, "RESET");
    if (++opened === count) break;
  }
}

/** Waits until a store has a snapshot. Returns the function that closes it. */
async function followed<S extends object>(store: LiveStore<S>): Promise<() => void> {
  const leave = store.subscribe(() => undefined);
  await until(store, ({ connection }) => connection.state === "connected");
  return leave;
}

/** Makes a call of each kind: unary, pages, a stream, and a watch that is opened twice. */
async function callAll(client: Client, options: StreamOptions = {}): Promise<void> {
  await client.whoAmI(options);
  await client.list("pods", options).all();
  for await (const data of client.logs({ namespace: "default", name: "a" }, options)) {
    assert.ok(data);
  }
  await readStreams(client, 2, options);
}

const allMethods = ["WhoAmI", "List", "List", "GetLogs", "Watch", "Watch"];

for (const [name, connect] of Object.entries(connects)) {
  suite(`the trace context of a client for ${name}`, () => {
    let client: Client;
    let recorder: Recorder;
    let connection: Connection;

    beforeEach(async () => {
      context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
      propagation.setGlobalPropagator(defaultPropagators());
      connection = await connect();
      ({ client, recorder } = connection);
    });

    afterEach(() => {
      connection.close();
      context.disable();
      propagation.disable();
      diag.disable();
    });

    /** Asserts that a call of each kind was received, all with the same trace headers. */
    const assertAllSent = (headers: TraceHeaders): void => {
      assert.deepEqual(
        recorder.calls.map(({ method }) => method),
        allMethods,
      );
      assert.deepEqual(
        recorder.sent,
        allMethods.map(() => headers),
      );
    };

    test("is sent with each call, each stream and each resumed stream, without baggage", async () => {
      await context.with(active, () => callAll(client));
      assertAllSent(expected);
      const tokens = recorder.calls.flatMap(({ resumeTokens }) => resumeTokens);
      assert.deepEqual(tokens, ["", "after-5"]);
    });

    test("is that of the call, if several calls run at the same time", async () => {
      const contexts = [1, 2, 3].map(spanContext);
      await Promise.all(contexts.map(([each]) => context.with(each, () => client.whoAmI())));
      const byParent = (a: TraceHeaders, b: TraceHeaders) =>
        String(a.traceparent).localeCompare(String(b.traceparent));
      assert.deepEqual(
        recorder.sent.sort(byParent),
        contexts.map(([, headers]) => headers),
      );
    });

    test("of a stream is that of its reader, at the time when the stream is opened", async () => {
      const [other, otherExpected] = spanContext(2);
      const watch = client.watch("pods", { sleep: () => Promise.resolve() });
      const events = watch[Symbol.asyncIterator]();
      await context.with(active, () => events.next());
      await context.with(other, () => events.next());
      await events.return(undefined);
      assert.deepEqual(recorder.sent, [expected, otherExpected]);
    });

    test("of stores is that of the first, because they share its stream", async () => {
      const first = await context.with(active, () => followed(client.store("pods")));
      const [other] = spanContext(2);
      const second = await context.with(other, () => followed(client.store("pods")));
      first();
      second();
      const streams = recorder.calls.map(({ resumeTokens }) => resumeTokens);
      assert.deepEqual(streams.slice(0, 2), [[""], ["after-1", ""]]);
      for (const sent of recorder.sent) assert.deepEqual(sent, expected);
    });

    test("is not sent without a span, nor is the baggage", async () => {
      await context.with(withBaggage, () => callAll(client));
      assertAllSent(none);
    });

    test("is not sent without OpenTelemetry", async () => {
      context.disable();
      propagation.disable();
      await callAll(client);
      assert.ok(Reflect.deleteProperty(globalThis, Symbol.for("opentelemetry.js.api.1")));
      await callAll(client);
      assert.equal(recorder.calls.length, 2 * allMethods.length);
      for (const sent of recorder.sent) assert.deepEqual(sent, none);
    });

    test("is not sent if the program has registered no propagator, or no context", async () => {
      propagation.disable();
      await context.with(active, () => callAll(client));
      context.disable();
      propagation.setGlobalPropagator(defaultPropagators());
      await callAll(client);
      assert.equal(recorder.calls.length, 2 * allMethods.length);
      for (const sent of recorder.sent) assert.deepEqual(sent, none);
    });

    test("fails no call if a propagator throws, and the error is logged", async () => {
      const logged: unknown[][] = [];
      const ignore = () => undefined;
      diag.setLogger({
        error: (...values: unknown[]) => logged.push(values),
        ...{ warn: ignore, info: ignore, debug: ignore, verbose: ignore },
      });
      const failure = new Error("a broken propagator");
      usePropagator((_, carrier, setter) => {
        setter.set(carrier, "traceparent", String(expected.traceparent));
        throw failure;
      });
      await context.with(active, () => callAll(client));
      assertAllSent(none);
      assert.equal(logged.length, allMethods.length);
      for (const values of logged) assert.equal(values.at(-1), failure);
    });

    test("fails no call if a propagator sets what is no header", async () => {
      usePropagator((_, carrier, setter) => {
        setter.set(carrier, "traceparent", "00-\n-01");
      });
      await context.with(active, () => callAll(client));
      assertAllSent(none);
    });

    test("has the headers of W3C only, whatever a propagator sets", async () => {
      usePropagator((injected, carrier, setter) => {
        new W3CTraceContextPropagator().inject(injected, carrier, setter);
        setter.set(carrier, "b3", "1");
        setter.set(carrier, "authorization", "Bearer of-the-propagator");
        setter.set(carrier, "traceparent-other", "1");
      });
      await context.with(active, () => callAll(client));
      assertAllSent(expected);
      for (const name of ["b3", "authorization", "traceparent-other"]) {
        for (const { header } of recorder.calls) assert.equal(header.get(name), null);
      }
    });

    test("is sent in addition to the headers of the call", async () => {
      const headers = { "X-Request-Id": "42" };
      await context.with(active, () => callAll(client, { headers }));
      assertAllSent(expected);
      for (const { header } of recorder.calls) assert.equal(header.get("X-Request-Id"), "42");
    });

    test("gives way to a traceparent of the call", async () => {
      const [, { traceparent }] = spanContext(2);
      const headers = { Traceparent: String(traceparent) };
      await context.with(active, () => callAll(client, { headers }));
      assertAllSent({ ...none, traceparent });
    });

    test("can be removed by an interceptor", async () => {
      const other = await connect([
        (next) => (request) => {
          assert.equal(request.header.get("traceparent"), expected.traceparent);
          for (const header of ["traceparent", "tracestate"]) request.header.delete(header);
          return next(request);
        },
      ]);
      await context.with(active, () => callAll(other.client));
      other.close();
      assert.deepEqual(
        other.recorder.sent,
        allMethods.map(() => none),
      );
    });
  });
}

// This context manager follows no promises: a context is active until its function returns.
suite("the trace context of a page with the default context manager", () => {
  let connection: Connection;

  before(async () => {
    context.setGlobalContextManager(new StackContextManager().enable());
    propagation.setGlobalPropagator(defaultPropagators());
    connection = await overFetch();
  });

  after(() => {
    connection.close();
    context.disable();
    propagation.disable();
  });

  test("is that which is active when the call is made", async () => {
    const { client, recorder } = connection;
    await context.with(active, () => client.whoAmI());
    await context.with(active, () => client.list("pods").pages().next());
    await context.with(active, () => readStreams(client, 1));
    assert.deepEqual(recorder.sent, [expected, expected, expected]);
  });
});
