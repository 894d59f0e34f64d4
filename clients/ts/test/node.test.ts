import assert from "node:assert/strict";
import { createServer, type Http2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { after, before, suite, test } from "node:test";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { connect } from "../src/node.js";
import { EventType, ResourceService } from "../src/proto.js";
import { pod, podKind } from "./fixture.js";

suite("connect over HTTP/2", () => {
  let server: Http2Server;
  let address: string;

  before(async () => {
    const handler = connectNodeAdapter({
      routes: ({ service }) => {
        service(ResourceService, {
          get: ({ name }, { requestHeader }) => ({
            kind: podKind,
            object: pod(name, requestHeader.get("Authorization") ?? ""),
          }),
          async *watch(_, { signal }) {
            yield { kind: podKind, events: [{ type: EventType.RESET }] };
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
      const watch = client.watch("pods", {}, { signal: stop.signal });
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
