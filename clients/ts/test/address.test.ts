import assert from "node:assert/strict";
import { createServer } from "node:http2";
import type { AddressInfo } from "node:net";
import { suite, test } from "node:test";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { parseAddress } from "../src/address.js";
import * as node from "../src/node.js";
import { ResourceService } from "../src/proto.js";
import * as web from "../src/web.js";
import { pod, podResource } from "./fixture.js";

const addresses = {
  "http://localhost:8080": "http://localhost:8080",
  "https://kubeconnect.example.com/": "https://kubeconnect.example.com",
  "http://host/prefix/": "http://host/prefix",
  "HTTP://Host:80": "http://host",
  "localhost:8080": "http://localhost:8080",
  localhost: "http://localhost",
  "127.0.0.1:8080/prefix": "http://127.0.0.1:8080/prefix",
  "[::1]:8080": "http://[::1]:8080",
  "kubeconnect:8443": "https://kubeconnect:8443",
  "10.0.0.1": "https://10.0.0.1",
};

const invalid = [
  "",
  " ",
  "/prefix",
  "//host:8080",
  "http:",
  "///host",
  "http:/host",
  "http://",
  "http://host:99999",
  "ws://host:8080",
  "file:///etc/hosts",
  "::1",
  "a b",
  "https://user:secret@host",
  "user:secret@host",
  "http://host?query",
  "http://host#part",
  undefined as unknown as string,
];

suite("an address", () => {
  for (const [address, url] of Object.entries(addresses)) {
    test(`of the form ${address} is ${url}`, () => {
      assert.equal(parseAddress(address), url);
    });
  }

  for (const address of invalid) {
    test(`of the form ${JSON.stringify(address)} is a TypeError of both connects`, () => {
      for (const { connect } of [node, web]) {
        assert.throws(
          () => connect(address),
          ({ name, message }: Error) =>
            name === "TypeError" &&
            message.startsWith("invalid address: use") &&
            !message.includes("secret"),
        );
      }
    });
  }

  test("without a scheme never sends a token in plain text to another host", () => {
    assert.doesNotThrow(() => web.connect("kubeconnect:8443", { token: "t" }));
    assert.throws(() => web.connect("http://kubeconnect:8443", { token: "t" }), /plain text/);
  });

  for (const protocol of ["grpc", "connect"] as const) {
    test(`with a path is a prefix of the requests, by ${protocol}`, async () => {
      const paths: string[] = [];
      const serve = connectNodeAdapter({
        requestPathPrefix: "/prefix",
        routes: ({ service }) => {
          service(ResourceService, {
            get: ({ name }) => ({ resource: podResource, object: pod(name) }),
          });
        },
      });
      const server = createServer((request, response) => {
        paths.push(request.url);
        serve(request, response);
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const { port } = server.address() as AddressInfo;
      const client = node.connect(`127.0.0.1:${port}/prefix/`, { protocol });
      assert.equal((await client.get("pods", { name: "web" })).name, "web");
      assert.deepEqual(paths, ["/prefix/kubeconnect.v1.ResourceService/Get"]);
      client.close();
      server.close();
    });
  }
});
