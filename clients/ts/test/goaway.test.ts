import assert from "node:assert/strict";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { suite, test } from "node:test";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { createAsyncIterable } from "@connectrpc/connect/protocol";
import { connect } from "../src/node.js";
import { EventType, ResourceService } from "../src/proto.js";
import { pod, podResource } from "./fixture.js";

// A service that shuts down, or moves its streams, sends GOAWAY. An error event without a listener, which is what
// this can lead to in Node.js, would end the program.
suite("a service that ends its connections", () => {
  for (const protocol of ["grpc", "connect"] as const) {
    test(`is called again over new ones, by ${protocol}`, async () => {
      const server = createServer(
        connectNodeAdapter({
          routes: ({ service }) => {
            service(ResourceService, {
              get: ({ name }) => ({ resource: podResource, object: pod(name) }),
              watch: () =>
                createAsyncIterable([
                  { resource: podResource, events: [{ type: EventType.RESET }] },
                ]),
            });
          },
        }),
      );
      let sessions = 0;
      server.on("session", (session) => {
        sessions++;
        session.on("stream", (stream) => {
          stream.on("close", () => {
            if (!session.destroyed) session.goaway(0);
          });
        });
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const client = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, {
        protocol,
      });
      const watches = Array.from({ length: 8 }, async (_, index) => {
        let resets = 0;
        const sleep = () => new Promise<void>((resolve) => setTimeout(resolve, index % 3));
        for await (const { type } of client.watch("pods", { sleep })) {
          if (type === "RESET" && ++resets === 100) return;
        }
      });
      for (let call = 0; call < 300; call++) {
        const object = await client.get("pods", { namespace: "default", name: `${call}` });
        assert.equal(object.name, `${call}`);
      }
      await Promise.all(watches);
      assert.ok(sessions > 100, `${sessions} connections`);
      client.close();
      server.close();
    });
  }
});
