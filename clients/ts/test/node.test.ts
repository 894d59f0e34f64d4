import assert from "node:assert/strict";
import { createServer, type Http2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { after, before, suite, test } from "node:test";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { Code, ConnectError } from "@connectrpc/connect";
import { connect } from "../src/node.js";
import { EventType, ResourceService, StatusSchema } from "../src/proto.js";
import { pod, podResource } from "./fixture.js";

suite("connect over HTTP/2", () => {
  let server: Http2Server;
  let address: string;

  before(async () => {
    const handler = connectNodeAdapter({
      routes: ({ service }) => {
        service(ResourceService, {
          get: ({ name }, { requestHeader }) => ({
            resource: podResource,
            object: pod(name, requestHeader.get("Authorization") ?? ""),
          }),
          async *watch(_, { signal }) {
            yield { resource: podResource, events: [{ type: EventType.RESET }] };
            await new Promise((resolve) => {
              signal.addEventListener("abort", resolve);
            });
          },
        });
      },
    });
    server = createServer(handler);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  after(() => {
    server.close();
  });

  for (const protocol of ["grpc", "connect"] as const) {
    test(`reads with a token and watches until the signal, by ${protocol}`, async () => {
      const client = connect(address, { protocol, token: () => "secret" });
      const object = await client.get("pods", { namespace: "default", name: "web" });
      assert.equal(object.resourceVersion, "Bearer secret");

      const stop = new AbortController();
      const watch = client.watch("pods", { signal: stop.signal });
      await assert.rejects(async () => {
        for await (const event of watch) {
          assert.equal(event.type, "RESET");
          stop.abort(new Error("seen enough"));
        }
      }, /seen enough/);
      client.close();
    });
  }
});

suite("a closed client", () => {
  test("ends its watches and rejects calls", async () => {
    const handler = connectNodeAdapter({
      routes: ({ service }) => {
        service(ResourceService, {
          async *watch() {
            yield { resource: podResource, events: [{ type: EventType.RESET }] };
            await new Promise(() => undefined);
          },
        });
      },
    });
    const server = createServer(handler);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    const closed = { code: Code.Canceled, message: "the client is closed" };
    await assert.rejects(async () => {
      for await (const event of client.watch("pods", { isFinal: () => false })) {
        assert.equal(event.type, "RESET");
        client.close();
      }
    }, closed);
    await assert.rejects(client.get("pods", { name: "web" }), closed);
    await assert.rejects(client.watch("pods").batches().next(), closed);
    server.close();
  });
});

suite("an unusable replica", () => {
  /** Starts a service with this watch, and records the client port of each call. */
  async function serve(watch: (opened: number) => AsyncGenerator<Response>) {
    const ports: number[] = [];
    const handler = connectNodeAdapter({
      routes: ({ service }) => {
        service(ResourceService, {
          get: ({ name }) => ({ resource: podResource, object: pod(name) }),
          watch: () => watch(ports.length),
        });
      },
    });
    const server = createServer((request, response) => {
      ports.push(request.socket.remotePort ?? 0);
      handler(request, response);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    return { server, address, ports };
  }

  interface Response {
    resource: typeof podResource;
    events: { type: EventType }[];
    resumeToken: string;
    freshness: { stale: boolean };
  }

  const bookmark = (stale: boolean): Response => ({
    resource: podResource,
    events: [{ type: EventType.BOOKMARK }],
    resumeToken: "t1",
    freshness: { stale },
  });

  const forever = (): Promise<never> => new Promise(() => undefined);

  test("is left for another connection when it is silent", async () => {
    const { server, address, ports } = await serve(async function* (opened) {
      yield bookmark(false);
      if (opened === 1) await forever();
    });
    const client = connect(address);
    const stop = new AbortController();
    const options = { quietMs: 50, firstDelayMs: 0, signal: stop.signal };
    for await (const batch of client.watch("pods", options).batches()) {
      if (ports.length > 1 && batch.freshness?.stale === false) break;
    }
    await client.get("pods", { namespace: "default", name: "web" });
    assert.equal(new Set(ports.slice(0, 2)).size, 2);
    client.close();
    stop.abort();
    server.close();
  });
});

const web = { namespace: "default", name: "web" };

suite("a rejected call", () => {
  for (const { name, code, retryAfterSeconds, timeoutMs, calls } of [
    {
      name: "with a time",
      code: Code.ResourceExhausted,
      retryAfterSeconds: 1,
      timeoutMs: 9_000,
      calls: 2,
    },
    {
      name: "without a time",
      code: Code.Unavailable,
      retryAfterSeconds: 0,
      timeoutMs: 9_000,
      calls: 1,
    },
    {
      name: "for too long",
      code: Code.Unavailable,
      retryAfterSeconds: 9,
      timeoutMs: 5_000,
      calls: 1,
    },
    { name: "for good", code: Code.Internal, retryAfterSeconds: 1, timeoutMs: 9_000, calls: 1 },
  ]) {
    for (const perCall of [false, true])
      test(`${name} is made ${calls} times, with a timeout of ${perCall ? "the call" : "the client"}`, async () => {
        let received = 0;
        const handler = connectNodeAdapter({
          routes: ({ service }) => {
            service(ResourceService, {
              get: ({ name }) => {
                if (++received > 1) return { resource: podResource, object: pod(name) };
                const detail = { desc: StatusSchema, value: { retryAfterSeconds } };
                throw new ConnectError("busy", code, undefined, [detail]);
              },
            });
          },
        });
        const server = createServer(handler);
        await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
        const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
        const client = connect(address, { timeoutMs: perCall ? 1 : timeoutMs });
        const result = client.get("pods", web, perCall ? { timeoutMs } : {});
        await (calls > 1 ? result : assert.rejects(result, { message: "busy" }));
        assert.equal(received, calls);
        client.close();
        server.close();
      });
  }
});
