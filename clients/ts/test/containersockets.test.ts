import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { connect as connectTcp, type AddressInfo } from "node:net";
import { after, before, beforeEach, suite, test } from "node:test";
import { WebSocket, WebSocketServer } from "ws";
import { connectContainers } from "../src/containers/node.js";
import { connectContainers as connectWeb } from "../src/containers/web.js";
import { ForbiddenError, ResourceExhaustedError, UnavailableError } from "../src/index.js";

const pod = { namespace: "default", name: "web" };
const succeeded = `\x03${JSON.stringify({ kind: "Status", status: "Success" })}`;
const forbidden = JSON.stringify({
  kind: "Status",
  status: "Failure",
  reason: "Forbidden",
  message: "denied",
  code: 403,
});

/** A server whose WebSockets belong to a test. */
class Upstream {
  readonly server: Server = createServer((request, response) => {
    this.requests.push(request);
    response.writeHead(403, { "X-Request-Id": "id-1" }).end(forbidden);
  });
  readonly #sockets = new WebSocketServer({
    noServer: true,
    handleProtocols: (protocols) =>
      [...protocols].find((each) => each.endsWith(".channel.k8s.io")) ?? false,
  });
  requests: IncomingMessage[] = [];
  isForbidden = false;
  serve: (socket: WebSocket) => void = () => undefined;

  constructor() {
    this.server.on("upgrade", (request: IncomingMessage, socket, head) => {
      this.requests.push(request);
      if (this.isForbidden) {
        const length = Buffer.byteLength(forbidden);
        socket.end(
          `HTTP/1.1 403 Forbidden\r\nX-Request-Id: id-1\r\nContent-Length: ${length}\r\n\r\n${forbidden}`,
        );
        return;
      }
      this.#sockets.handleUpgrade(request, socket, head, (opened) => {
        this.serve(opened);
      });
    });
  }

  get address(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }
}

suite("WebSockets into containers", () => {
  let upstream: Upstream;

  before(async () => {
    upstream = new Upstream();
    await new Promise<void>((resolve) => upstream.server.listen(0, "127.0.0.1", resolve));
    // Node.js 20 has none. That of the package has the same interface.
    if (!("WebSocket" in globalThis)) Object.assign(globalThis, { WebSocket });
  });

  after(() => {
    upstream.server.closeAllConnections();
    upstream.server.close();
  });

  beforeEach(() => {
    upstream.requests = [];
    upstream.isForbidden = false;
    upstream.serve = (socket) => {
      socket.on("message", (data: Buffer) => {
        if (data[0] === 0) socket.send(Buffer.concat([Uint8Array.of(1), data.subarray(1)]));
        if (data[0] !== 255) return;
        socket.send(Buffer.from(succeeded));
        socket.close(1000);
      });
    };
  });

  for (const [runtime, connect] of [
    ["the package ws", connectContainers],
    ["the runtime", connectWeb],
  ] as const) {
    test(`of ${runtime} send and receive, with a token`, async () => {
      const client = connect(upstream.address, { token: "to.ken" });
      const stdin = Buffer.alloc(5_000_000, "0123456789");
      const { stdout, exitCode } = await client.exec(pod, ["cat"], { stdin });
      assert.equal(exitCode, 0);
      assert.ok(stdin.equals(stdout));
      const { headers } = upstream.requests[0] ?? assert.fail();
      const sent = headers.authorization ?? String(headers["sec-websocket-protocol"]).split(",")[1];
      const expected = {
        "the package ws": "Bearer to.ken",
        "the runtime": "base64url.bearer.authorization.k8s.io.dG8ua2Vu",
      };
      assert.equal(sent, expected[runtime]);
    });

    test(`of ${runtime} reject with the error of the service`, async () => {
      upstream.isForbidden = true;
      const client = connect(upstream.address, { token: "to.ken" });
      await assert.rejects(client.exec(pod, ["true"]), (error: unknown) => {
        assert.ok(error instanceof ForbiddenError);
        assert.deepEqual([error.message, error.requestId], ["denied", "id-1"]);
        return true;
      });
      const last = upstream.requests.at(-1);
      assert.equal(last?.headers.authorization, "Bearer to.ken");
    });

    test(`of ${runtime} reject if nothing listens, and with the signal's reason`, async () => {
      const other = createServer();
      await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
      const { port } = other.address() as AddressInfo;
      await new Promise((resolve) => other.close(resolve));
      const nobody = connect(`http://127.0.0.1:${port}`);
      await assert.rejects(nobody.exec(pod, ["true"]), UnavailableError);
      const leaving = new AbortController();
      upstream.serve = () => {
        leaving.abort(new Error("left"));
      };
      const client = connect(upstream.address);
      await assert.rejects(client.exec(pod, ["true"], { signal: leaving.signal }), /^Error: left$/);
    });
  }

  test("of the package ws stop a sender whose output is not read", async () => {
    const message = Buffer.concat([Uint8Array.of(1), Buffer.alloc(64 * 1024)]);
    let sender: WebSocket | undefined;
    upstream.serve = (socket) => {
      sender = socket;
      for (let sent = 0; sent < 1000; sent++) socket.send(message);
      socket.send(Buffer.from(succeeded));
    };
    const session = await connectContainers(upstream.address).openExec(pod, ["yes"]);
    while (sender === undefined) await new Promise((resolve) => setImmediate(resolve));
    for (let round = 0; round < 1000; round++)
      await new Promise((resolve) => setImmediate(resolve));
    assert.ok(sender.bufferedAmount > 10 * 1024 * 1024, "the sender is stopped");
    let size = 0;
    for await (const { data } of session) size += data.length;
    assert.equal(size, 1000 * 64 * 1024);
    assert.equal(session.exitCode, 0);
    session.close();
  });

  test("of the runtime are closed if their output is not read", async () => {
    const message = Buffer.concat([Uint8Array.of(1), Buffer.alloc(1024 * 1024)]);
    let closed: Promise<unknown> | undefined;
    upstream.serve = (socket) => {
      closed = once(socket, "close");
      for (let sent = 0; sent < 20; sent++) socket.send(message);
    };
    const session = await connectWeb(upstream.address).openExec(pod, ["yes"]);
    while (closed === undefined) await new Promise((resolve) => setImmediate(resolve));
    await closed;
    await assert.rejects(session.read(), ResourceExhaustedError);
  });

  test("forward connections of a local port, and reset those that fail", async () => {
    upstream.serve = (socket) => {
      socket.send(Buffer.from("\x00\x07\0"));
      socket.on("message", (data: Buffer) => {
        socket.send(data);
        if (data.includes("last")) socket.close(1000);
      });
    };
    const client = connectContainers(upstream.address);
    const errors: Error[] = [];
    const forward = await client.portForward(pod, 7, { onError: (error) => errors.push(error) });
    const local = connectTcp(forward.localPort, "127.0.0.1");
    local.write("first, last");
    let received = "";
    for await (const data of local) received += String(data);
    assert.equal(received, "first, last");
    upstream.isForbidden = true;
    const rejected = connectTcp(forward.localPort, "127.0.0.1");
    await assert.rejects(once(rejected, "end"), { code: "ECONNRESET" });
    while (errors.length === 0) await new Promise((resolve) => setImmediate(resolve));
    assert.ok(errors[0] instanceof ForbiddenError);
    forward.close();
    assert.equal(forward.localPort, 0);
    client.close();
  });
});
