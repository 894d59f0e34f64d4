import assert from "node:assert/strict";
import { createServer, type Http2Server, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import { suite, test } from "node:test";
import { create, toBinary } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { encodeEnvelope } from "@connectrpc/connect/protocol";
import { connect, KubeconnectError, type NodeClient } from "../src/node.js";
import { EventType, ResourceService, WatchResponseSchema } from "../src/proto.js";
import { pod, podResource } from "./fixture.js";

/** Calls a function with a client of a server. */
async function withClient(
  server: Http2Server,
  use: (client: NodeClient) => Promise<void>,
): Promise<void> {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  try {
    await use(client);
  } finally {
    client.close();
    server.close();
  }
}

/** Returns a message of a watch, with its prefix. */
function message(resourceVersion: string): Uint8Array {
  const events = [{ type: EventType.BOOKMARK, resourceVersion }];
  const response = create(WatchResponseSchema, { resource: podResource, events });
  return encodeEnvelope(0, toBinary(WatchResponseSchema, response));
}

/** Returns a server whose streams begin with these pieces. Each is sent before the next. */
function serverOf(pieces: readonly Uint8Array[], trailers: Record<string, string>): Http2Server {
  const server = createServer();
  server.on("stream", (stream: ServerHttp2Stream) => {
    stream.on("error", () => undefined); // the client closes its connection first
    const headers = { "content-type": "application/grpc+proto", "x-request-id": "7" };
    stream.respond(headers, { waitForTrailers: true });
    stream.on("wantTrailers", () => {
      stream.sendTrailers(trailers);
    });
    const send = ([piece, ...more]: readonly Uint8Array[]): void => {
      if (piece) stream.write(piece, () => setImmediate(send, more));
      else stream.end();
    };
    send(pieces);
  });
  return server;
}

/** Returns the versions of the events until the stream ends, and its error. */
async function watched(client: NodeClient): Promise<{ versions: string[]; error: unknown }> {
  const versions: string[] = [];
  try {
    for await (const event of client.watch("pods", { reconnect: false }))
      versions.push(event.resourceVersion);
  } catch (error) {
    return { versions, error };
  }
  throw new Error("the watch has ended");
}

const unavailable = { "grpc-status": "14", "grpc-message": "gone" };

suite("a stream by gRPC", () => {
  const both = Buffer.concat([message("1"), message("2")]);
  for (const [name, pieces] of [
    ["in one piece", [both]],
    ["in pieces of one byte", [...both].map((byte) => Uint8Array.of(byte))],
    [
      "cut within the second prefix",
      [both.subarray(0, both.length / 2 + 3), both.subarray(both.length / 2 + 3)],
    ],
  ] as const) {
    test(`delivers two messages ${name}, and then the error of the trailers`, async () => {
      await withClient(serverOf(pieces, unavailable), async (client) => {
        const { versions, error } = await watched(client);
        assert.deepEqual(versions, ["1", "2"]);
        assert.ok(error instanceof KubeconnectError);
        const { code, message, requestId } = error;
        assert.deepEqual([code, message, requestId], [Code.Unavailable, "gone", "7"]);
      });
    });
  }

  for (const [name, pieces, trailers, expected] of [
    ["ends within a message", [both.subarray(0, -1)], unavailable, /premature end of stream/],
    [
      "has a message that is not compressed as it says",
      [encodeEnvelope(1, Uint8Array.of(0))],
      unavailable,
      /decompression failed/,
    ],
    ["has no status", [both], {}, /missing status/],
  ] as const) {
    test(`fails if it ${name}`, async () => {
      await withClient(serverOf(pieces, trailers), async (client) => {
        const { error } = await watched(client);
        assert.match(String(error), expected);
      });
    });
  }
});

suite("a stream of more than the receive window", () => {
  const count = 40;
  const large = "x".repeat(256 << 10);

  /** Returns a server whose watch sends 10 MiB. */
  function largeServer(): Http2Server {
    const watch = async function* () {
      for (let sent = 0; sent < count; sent++) {
        const event = { type: EventType.ADDED, object: pod(`${sent}`, large) };
        yield { resource: podResource, events: [event] };
      }
      await new Promise(() => undefined);
    };
    const get = ({ name }: { name: string }) => ({ resource: podResource, object: pod(name) });
    return createServer(
      connectNodeAdapter({
        routes: ({ service }) => {
          service(ResourceService, { get, watch });
        },
      }),
    );
  }

  test("reaches a slow reader completely", async () => {
    await withClient(largeServer(), async (client) => {
      let received = 0;
      for await (const event of client.watch("pods")) {
        assert.ok(event.type === "ADDED" && event.object.resourceVersion === large);
        if (++received === count) break;
        await client.get("pods", { namespace: "default", name: "web" });
      }
      assert.equal(received, count);
    });
  });

  test("does not block other calls while nobody reads it", async () => {
    await withClient(largeServer(), async (client) => {
      const watch = client.watch("pods").batches();
      await watch.next();
      for (let call = 0; call < 10; call++) {
        const object = await client.get("pods", { namespace: "default", name: "web" });
        assert.equal(object.name, "web");
      }
      await watch.return();
    });
  });
});
