import assert from "node:assert/strict";
import { createServer, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, suite, test } from "node:test";
import { Code, ConnectError } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import {
  Code as Codes,
  DeadlineExceededError,
  ForbiddenError,
  KubeconnectError,
  UnavailableError,
} from "../src/index.js";
import { EventType, ResourceService, StatusSchema } from "../src/proto.js";
import { connect } from "../src/web.js";
import { pod, podResource } from "./fixture.js";

const web = { namespace: "default", name: "web" };
const once = { reconnect: false } as const;

suite("the transport of browsers, over a real connection,", () => {
  const servers: Server[] = [];

  afterEach(() => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      server.close();
    }
  });

  /** Serves requests, and returns a client of that server. */
  async function clientOf(listener: RequestListener) {
    const server = createServer(listener);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  }

  test("reads and watches", async () => {
    const client = await clientOf(service);
    assert.equal((await client.get("pods", web)).name, "web");
    const types: string[] = [];
    const stop = new AbortController();
    await assert.rejects(async () => {
      for await (const { type } of client.watch("pods", { signal: stop.signal })) {
        types.push(type);
        if (type === "SYNCED") stop.abort(new Error("seen enough"));
      }
    }, /seen enough/);
    assert.deepEqual(types, ["RESET", "ADDED", "SYNCED"]);
  });

  test("has the class, the reason and the ID of an error of a call, and of a stream", async () => {
    const client = await clientOf(service);
    const forbidden = (error: unknown) =>
      error instanceof ForbiddenError &&
      error.reason === "Forbidden" &&
      error.fromService &&
      error.requestId === "7";
    await assert.rejects(client.get("pods", { ...web, name: "secret" }), forbidden);
    await assert.rejects(first(client.watch("secrets", once)), forbidden);
  });

  test("ends a call at its timeout, and a call without a timeout never", async () => {
    const client = await clientOf(service);
    const slow = { ...web, name: "slow" };
    await assert.rejects(client.get("pods", slow, { timeoutMs: 1 }), DeadlineExceededError);
    assert.equal((await client.get("pods", web, { timeoutMs: 0 })).name, "web");
  });

  test("reports a response that ends early as unavailable", async () => {
    const reset = Buffer.from([0, 0, 0, 0, 0]); // an empty message
    const ends = {
      "is cut": (response: ServerResponse) => response.write(reset, () => response.destroy()),
      "has no final message": (response: ServerResponse) => response.end(reset),
      "is cut within a message": (response: ServerResponse) =>
        response.write(Buffer.from([0, 0, 0, 0, 9, 1]), () => response.destroy()),
    };
    for (const [way, end] of Object.entries(ends)) {
      const client = await clientOf((_, response) => {
        response.writeHead(200, { "Content-Type": "application/connect+proto" });
        end(response);
      });
      await assert.rejects(all(client.watch("pods", once)), UnavailableError, way);
    }
  });

  test("reports a call whose response is cut as unavailable", async () => {
    const client = await clientOf((_, response) => {
      response.writeHead(200, { "Content-Type": "application/proto", "Content-Length": 9 });
      response.write(Buffer.from([0]), () => response.destroy());
    });
    await assert.rejects(client.get("pods", web), UnavailableError);
  });

  test("reports a message that it cannot read as an internal error", async () => {
    const client = await clientOf((request, response) => {
      const stream = request.url?.endsWith("/Watch");
      response.writeHead(200, { "Content-Type": `application/${stream ? "connect+" : ""}proto` });
      response.end(Buffer.from(stream ? [1, 0, 0, 0, 1, 0] : [255]));
    });
    const internal = (error: unknown) =>
      error instanceof KubeconnectError && error.code === Codes.Internal;
    await assert.rejects(client.get("pods", web), internal);
    await assert.rejects(first(client.watch("pods", once)), internal); // compressed
  });

  test("reports a response of something else by its status", async () => {
    const client = await clientOf((_, response) => {
      response.writeHead(502, { "Content-Type": "text/html" }).end("<h1>Bad gateway</h1>");
    });
    await assert.rejects(client.get("pods", web), UnavailableError);
    await assert.rejects(first(client.watch("pods", once)), UnavailableError);
  });

  test("has the text with which a page of another origin is rejected", async () => {
    const client = await clientOf((_, response) => {
      response.writeHead(403, { "Content-Type": "text/plain" }).end("this origin may not call\n");
    });
    const rejected = (error: unknown) =>
      error instanceof ForbiddenError && error.message === "this origin may not call";
    await assert.rejects(client.get("pods", web), rejected);
    await assert.rejects(first(client.watch("pods", once)), rejected);
  });
});

/** A service with a pod, and a secret that may not be read. */
const service = connectNodeAdapter({
  routes: ({ service }) => {
    service(ResourceService, {
      async get({ name }, { signal, responseHeader }) {
        responseHeader.set("X-Request-Id", "7");
        if (name === "secret") throw forbidden();
        if (name === "slow") {
          await new Promise((resolve) => {
            signal.addEventListener("abort", resolve);
          });
        }
        return { resource: podResource, object: pod(name) };
      },
      async *watch({ resource }, { signal, responseHeader }) {
        responseHeader.set("X-Request-Id", "7");
        if (resource === "secrets") throw forbidden();
        const events = [
          { type: EventType.RESET },
          { type: EventType.ADDED, object: pod("web") },
          { type: EventType.SYNCED },
        ];
        yield { resource: podResource, events };
        await new Promise((resolve) => {
          signal.addEventListener("abort", resolve);
        });
      },
    });
  },
});

function forbidden(): ConnectError {
  const status = { desc: StatusSchema, value: { reason: "Forbidden", message: "not for you" } };
  return new ConnectError("not for you", Code.PermissionDenied, undefined, [status]);
}

async function first(stream: AsyncIterable<unknown>): Promise<void> {
  await stream[Symbol.asyncIterator]().next();
}

async function all(stream: AsyncIterable<unknown>): Promise<void> {
  for await (const item of stream) assert.ok(item);
}
