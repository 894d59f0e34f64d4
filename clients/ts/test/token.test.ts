import assert from "node:assert/strict";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, suite, test } from "node:test";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { connect as connectNode } from "../src/node.js";
import { AccessService } from "../src/proto.js";
import { connect as connectWeb } from "../src/web.js";

const clients = { node: connectNode, web: connectWeb };

for (const [name, connect] of Object.entries(clients)) {
  suite(`a token of the client for ${name}`, () => {
    const token = "secret-token";

    for (const address of [
      "https://kubeconnect.example:8443",
      "http://localhost:8080",
      "http://LOCALHOST",
      "http://127.0.0.1:8080",
      "http://127.8.9.10",
      "http://[::1]:8080",
    ]) {
      test(`may go to ${address}`, () => {
        assert.ok(connect(address, { token }));
      });
    }

    for (const address of [
      "http://kubeconnect.example:8080",
      "http://10.0.0.1",
      "http://localhost.example",
      "http://127.0.0.1.example",
      "http://[::2]",
    ]) {
      test(`is not sent in plain text to ${address}`, () => {
        assert.throws(() => connect(address, { token }), withoutToken(/plain text/));
        assert.throws(() => connect(address, { token: () => token }), withoutToken(/plain text/));
      });
    }

    for (const malformed of ["", "secret token", "secret\ntoken", "sécret"]) {
      test(`cannot be ${JSON.stringify(malformed)}`, async () => {
        const address = "http://127.0.0.1:1";
        const words = withoutToken(/the token is empty, or has spaces/);
        assert.throws(() => connect(address, { token: malformed }), words);
        await assert.rejects(connect(address, { token: () => malformed }).whoAmI(), words);
      });
    }
  });
}

/** Whether an error says why, and nothing of the token. */
function withoutToken(words: RegExp): (error: Error) => boolean {
  return ({ message }) => words.test(message) && !/s[eé]cret/.test(message);
}

suite("a page's client", () => {
  let server: Server;
  let address: string;

  before(async () => {
    const routes = connectNodeAdapter({
      routes: ({ service }) => {
        service(AccessService, {
          whoAmI: (_, { requestHeader }) => ({
            username: requestHeader.get("Authorization") ?? "nobody",
            groups: ["readers"],
          }),
        });
      },
    });
    server = createServer(routes);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  after(() => {
    server.closeAllConnections();
    server.close();
  });

  test("sends no token unless it has one", async () => {
    const identity = { username: "nobody", uid: "", groups: ["readers"] };
    assert.deepEqual(await connectWeb(address).whoAmI(), identity);
  });

  test("asks for a token before each call", async () => {
    const tokens = ["first", "second"];
    const client = connectWeb(address, { token: () => Promise.resolve(tokens.shift() ?? "") });
    assert.equal((await client.whoAmI()).username, "Bearer first");
    assert.equal((await client.whoAmI()).username, "Bearer second");
  });
});
