import assert from "node:assert/strict";
import { mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import { createServer as createHttp2Server, type Http2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, afterEach, before, beforeEach, suite, test, type TestContext } from "node:test";
import { Code, ConnectError } from "@connectrpc/connect";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import {
  connect as connectNode,
  type KubeconnectError,
  type NodeClient,
  type NodeOptions,
  type WatchBatch,
} from "../src/node.js";
import { AccessService, EventType, ResourceService, type WatchManyRequest } from "../src/proto.js";
import { connect as connectWeb } from "../src/web.js";
import { podResource, until } from "./fixture.js";

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
        const expected = withoutToken(/token is empty, or has spaces/);
        assert.throws(() => connect(address, { token: malformed }), expected);
        await assert.rejects(connect(address, { token: () => malformed }).whoAmI(), expected);
      });
    }
  });
}

/** Returns whether an error has this message and does not contain the token. */
function withoutToken(pattern: RegExp): (error: Error) => boolean {
  return ({ message }) => pattern.test(message) && !/s[eé]cret/.test(message);
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
    const identity = { username: "nobody", uid: "", groups: ["readers"], extra: {} };
    assert.deepEqual(await connectWeb(address).whoAmI(), identity);
  });

  test("gets a token before each call", async () => {
    const tokens = ["first", "second"];
    const client = connectWeb(address, { token: () => Promise.resolve(tokens.shift() ?? "") });
    assert.equal((await client.whoAmI()).username, "Bearer first");
    assert.equal((await client.whoAmI()).username, "Bearer second");
  });
});

/** A service that accepts one token at a time. */
class Tokens {
  accepted = "first";
  /** The tokens of all calls, in order. */
  readonly seen: string[] = [];
  #expire = (): void => undefined;

  /** Ends the open stream, as the service does when its token has expired. */
  expire(next: string): void {
    this.accepted = next;
    this.#expire();
  }

  readonly handler = connectNodeAdapter({
    routes: ({ service }) => {
      service(AccessService, {
        whoAmI: (_, { requestHeader }) => ({ username: this.#accept(requestHeader) }),
      });
      service(ResourceService, {
        watch: (request, context) => this.#watch(request.resumeToken, context.requestHeader),
        watchMany: (request, context) => this.#watchMany(request, context.requestHeader),
      });
    },
  });

  async *#watch(resumeToken: string, header: Headers) {
    const token = this.#accept(header);
    const expired = new Promise<void>((resolve) => (this.#expire = resolve));
    const type = resumeToken === "" ? EventType.RESET : EventType.BOOKMARK;
    const freshness = { stale: false };
    yield { resource: podResource, events: [{ type }], resumeToken: `after-${token}`, freshness };
    await expired;
    throw new ConnectError("the credential has expired", Code.Unauthenticated);
  }

  /** Serves one store. */
  async *#watchMany({ watches: [spec] }: WatchManyRequest, header: Headers) {
    for await (const message of this.#watch(spec?.ownResumeToken ?? "", header)) {
      const synced = { type: EventType.SYNCED, resourceVersion: "1" };
      yield { response: { ...message, events: [...message.events, synced] } };
    }
  }

  #accept(header: Headers): string {
    const token = header.get("Authorization")?.slice("Bearer ".length) ?? "";
    this.seen.push(token);
    if (token === this.accepted) return token;
    throw new ConnectError("the credential has expired", Code.Unauthenticated);
  }
}

for (const protocol of ["grpc", "connect"] as const) {
  suite(`a token that expires, by ${protocol}`, () => {
    let server: Http2Server;
    let address: string;
    let tokens: Tokens;
    let folder: string;

    before(async () => {
      server = createHttp2Server((request, response) => {
        tokens.handler(request, response);
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    });

    after(() => {
      server.close();
    });

    beforeEach(async () => {
      tokens = new Tokens();
      folder = await mkdtemp(join(tmpdir(), "token-"));
    });

    afterEach(() => rm(folder, { recursive: true }));

    const connected = (
      t: TestContext,
      options: Pick<NodeOptions, "token" | "tokenFile">,
    ): NodeClient => {
      const client = connectNode(address, { protocol, ...options });
      t.after(() => {
        client.close();
      });
      return client;
    };

    test("is replaced by the function's next token, once per call", async (t) => {
      const returned = ["old", "first", "old", "older"];
      const client = connected(t, { token: () => returned.shift() ?? assert.fail() });
      assert.equal((await client.whoAmI()).username, "first");
      await assert.rejects(client.whoAmI(), { code: Code.Unauthenticated });
      assert.deepEqual(tokens.seen, ["old", "first", "old", "older"]);
    });

    test("is not sent twice if the function has no other token, or there is no function", async (t) => {
      for (const token of ["old", () => "old"]) {
        const call = connected(t, { token }).whoAmI();
        await assert.rejects(call, { code: Code.Unauthenticated });
      }
      assert.deepEqual(tokens.seen, ["old", "old"]);
    });

    test("is read from its file for each call", async (t) => {
      const tokenFile = join(folder, "token");
      await writeFile(tokenFile, "first\n");
      const client = connected(t, { tokenFile });
      assert.equal((await client.whoAmI()).username, "first");
      tokens.expire("second");
      await assert.rejects(client.whoAmI(), { code: Code.Unauthenticated });
      await writeFile(`${tokenFile}.new`, "second\n");
      await rename(`${tokenFile}.new`, tokenFile);
      assert.equal((await client.whoAmI()).username, "second");
    });

    const watched = (client: NodeClient, signal: AbortSignal): AsyncGenerator<WatchBatch> =>
      client.watch("pods", { signal, sleep: () => Promise.resolve() }).batches();

    test("does not end a watch if there is a new token", async (t) => {
      const client = connected(t, { token: () => tokens.accepted });
      const types: unknown[] = [];
      for await (const { events, resumeToken } of watched(client, t.signal)) {
        types.push(events[0]?.type);
        if (types.length === 3) break;
        tokens.expire(`next-${resumeToken}`);
      }
      assert.deepEqual(types, ["RESET", "BOOKMARK", "BOOKMARK"]);
    });

    test("does not end a store if its file is renewed late", async (t) => {
      const tokenFile = join(folder, "token");
      await writeFile(tokenFile, "first");
      const client = connected(t, { tokenFile });
      const lost: { code: Code; stale: boolean | undefined }[] = [];
      const store = client.store("pods", {
        sleep: () => (lost.length < 4 ? Promise.resolve() : writeFile(tokenFile, "second")),
        onRetry: ({ code }) => lost.push({ code, stale: store.freshness?.stale }),
      });
      await store.open();
      tokens.expire("second");
      await until(store, ({ error, freshness }) => {
        return error !== undefined || (freshness?.stale === false && lost.length > 0);
      });
      const rejected = { code: Code.Unauthenticated, stale: true };
      assert.deepEqual(lost, [rejected, rejected, rejected, rejected]);
      assert.equal(store.error, undefined);
      assert.deepEqual(tokens.seen, ["first", "first", "first", "first", "second"]);
      store.close();
    });

    test("does not end a watch if its function fails for a time", async (t) => {
      const returned = ["first", new Error("the issuer is away"), "a b", "second"];
      const client = connected(t, {
        token: () => {
          const next = returned.shift() ?? assert.fail();
          if (next instanceof Error) throw next;
          return next;
        },
      });
      const lost: string[] = [];
      const options = { signal: t.signal, sleep: () => Promise.resolve() };
      const onRetry = ({ message }: KubeconnectError) => lost.push(message);
      const batches = client.watch("pods", { ...options, onRetry }).batches();
      await batches.next();
      tokens.expire("second");
      assert.equal((await batches.next()).value?.events[0]?.type, "BOOKMARK");
      await batches.return();
      assert.deepEqual(lost, [
        "the credential has expired",
        "cannot get a token: the issuer is away",
        "cannot get a token: token is empty, or has spaces or other invalid characters",
      ]);
    });

    test("ends a watch if the next token is rejected immediately", async (t) => {
      const client = connected(t, { token: "first" });
      const batches = watched(client, t.signal);
      await batches.next();
      tokens.expire("second");
      await assert.rejects(batches.next(), { code: Code.Unauthenticated });
      assert.deepEqual(tokens.seen, ["first", "first"]);
    });
  });
}

test("token and tokenFile are mutually exclusive", () => {
  const options = { token: "first", tokenFile: "/nowhere" };
  assert.throws(() => connectNode("http://localhost", options), TypeError);
});
