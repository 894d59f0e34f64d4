import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { Code } from "@connectrpc/connect";
import { Containers } from "../src/containers/containers.js";
import type { StreamRequest } from "../src/containers/request.js";
import { Inbox, LostError, type ContainerSocket } from "../src/containers/socket.js";
import {
  CancelledError,
  DeadlineExceededError,
  InternalError,
  UnauthenticatedError,
  UnavailableError,
} from "../src/index.js";
import { failure } from "../src/containers/outcome.js";

const pod = { namespace: "default", name: "web" };
const succeeded = JSON.stringify({ kind: "Status", status: "Success" });

/** A WebSocket whose other side is a test. */
class FakeSocket implements ContainerSocket {
  readonly requestId = "id-1";
  readonly inbox = new Inbox();
  readonly sent: Uint8Array[] = [];
  readonly request: StreamRequest;

  constructor(request: StreamRequest) {
    this.request = request;
  }

  /** What was sent to stdin, or to a port, as text. */
  get input(): string {
    return Buffer.concat(
      this.sent.filter(([channel]) => channel === 0).map((m) => m.subarray(1)),
    ).toString();
  }

  output(channel: number, text: string): void {
    this.inbox.add(Buffer.concat([Uint8Array.of(channel), Buffer.from(text)]));
  }

  send(message: Uint8Array): Promise<boolean> {
    this.sent.push(message);
    return Promise.resolve(true);
  }

  receive(): Promise<Uint8Array | undefined> {
    return this.inbox.next();
  }

  close(reason: unknown): void {
    this.inbox.close(reason);
  }
}

/** A client, and the sockets that it opens. `begin` is called for each. */
function clientOf(begin: (socket: FakeSocket) => void = () => undefined, timeoutMs = 0) {
  const sockets: FakeSocket[] = [];
  const open = (request: StreamRequest): Promise<FakeSocket> => {
    const socket = new FakeSocket(request);
    sockets.push(socket);
    begin(socket);
    return Promise.resolve(socket);
  };
  return { sockets, client: new Containers({ open, token: undefined, timeoutMs }) };
}

suite("exec", () => {
  test("returns what a command prints, and its exit code", async () => {
    const { client, sockets } = clientOf((socket) => {
      socket.output(1, "one ");
      socket.output(2, "error");
      socket.output(1, "two");
      const details = { causes: [{ reason: "ExitCode", message: "3" }] };
      socket.output(3, JSON.stringify({ kind: "Status", reason: "NonZeroExitCode", details }));
    });
    const command = ["sh", "-c", "a & b"];
    const result = await client.exec(pod, command, { container: "main", stdin: "typed" });
    assert.equal(Buffer.from(result.stdout).toString(), "one two");
    assert.equal(Buffer.from(result.stderr).toString(), "error");
    assert.equal(result.exitCode, 3);
    const [socket] = sockets;
    const { path, protocol } = socket?.request ?? assert.fail();
    const query =
      "command=sh&command=-c&command=a+%26+b&stdin=true&stdout=true&stderr=true&container=main";
    assert.equal(path, `/api/v1/namespaces/default/pods/web/exec?${query}`);
    assert.equal(protocol, "v5.channel.k8s.io");
  });

  test("sends its input in bounded messages, and closes it", async () => {
    const stdin = "0123456789".repeat(10_000);
    const { client, sockets } = clientOf();
    const running = client.exec(pod, ["cat"], { stdin });
    await until(() => sockets[0]?.sent.at(-1)?.[0] === 255);
    const [socket] = sockets;
    assert.ok(socket);
    socket.output(3, succeeded);
    assert.equal((await running).exitCode, 0);
    assert.equal(socket.input, stdin);
    assert.ok(socket.sent.every((message) => message.length <= 1 + 32 * 1024));
    assert.deepEqual(socket.sent.at(-1), Uint8Array.of(255, 0));
  });

  test("rejects with the Status of a command that did not run", async () => {
    const status = {
      kind: "Status",
      status: "Failure",
      reason: "InternalError",
      message: "no such program",
    };
    const { client } = clientOf((socket) => {
      socket.output(3, JSON.stringify(status));
    });
    await assert.rejects(client.exec(pod, ["nothing"]), (error: unknown) => {
      assert.ok(error instanceof InternalError);
      assert.deepEqual(
        [error.message, error.reason, error.requestId],
        ["no such program", "InternalError", "id-1"],
      );
      return true;
    });
  });

  test("rejects if the connection is lost, or closed without an exit code", async () => {
    for (const code of [1006, 1000]) {
      const { client } = clientOf((socket) => {
        socket.output(1, "some");
        socket.inbox.closedByPeer(code, "");
      });
      await assert.rejects(client.exec(pod, ["true"]), (error: unknown) => {
        assert.ok(error instanceof UnavailableError);
        assert.match(error.message, /^the connection was lost before the session ended: /);
        return true;
      });
    }
  });

  test("rejects what is no command, no name and no size, before anything is opened", async () => {
    const { client, sockets } = clientOf();
    await assert.rejects(client.exec(pod, []), TypeError);
    await assert.rejects(client.exec(pod, "ls" as unknown as string[]), TypeError);
    await assert.rejects(
      client.exec({ name: "web" }, ["ls"]),
      /namespace of the pod must be a name/,
    );
    await assert.rejects(client.exec({ namespace: "default", name: ".." }, ["ls"]), TypeError);
    await assert.rejects(client.openPort(pod, 65536), TypeError);
    assert.equal(sockets.length, 0);
    const session = await client.openExec(pod, ["sh"], { stdin: false });
    await assert.rejects(session.write("a"), /pass stdin: true/);
    await assert.rejects(session.resize({ width: 80, height: 24 }), /pass tty: true/);
    const terminal = await client.openExec(pod, ["sh"], { tty: true });
    await assert.rejects(terminal.resize({ width: 0, height: 24 }), /width must be/);
  });

  test("ends after its timeout, and with the reason of its signal", async () => {
    const { client } = clientOf();
    await assert.rejects(client.exec(pod, ["sleep"], { timeoutMs: 1 }), DeadlineExceededError);
    const leaving = new AbortController();
    const running = client.exec(pod, ["sleep"], { signal: leaving.signal });
    const reason = new Error("left");
    leaving.abort(reason);
    await assert.rejects(running, reason);
    await assert.rejects(client.exec(pod, ["true"], { signal: leaving.signal }), reason);
  });

  test("sends another token if the service rejects the first one", async () => {
    const tokens: (string | undefined)[] = [];
    const open = (request: StreamRequest, { token }: { token: string | undefined }) => {
      tokens.push(token);
      if (token !== "third") return Promise.reject(failure(Code.Unauthenticated, "expired"));
      const socket = new FakeSocket(request);
      socket.output(3, succeeded);
      return Promise.resolve(socket);
    };
    const next = ["first", "second", "second", "third", "old", "old"];
    const token = () => Promise.resolve(next.shift() ?? assert.fail());
    const client = new Containers({ open, token, timeoutMs: 0 });
    await assert.rejects(client.exec(pod, ["true"]), UnauthenticatedError);
    await client.exec(pod, ["true"]);
    await assert.rejects(client.exec(pod, ["true"]), UnauthenticatedError);
    assert.deepEqual(tokens, ["first", "second", "second", "third", "old"]);
  });
});

suite("a session", () => {
  test("is a terminal", async () => {
    const { client, sockets } = clientOf();
    const session = await client.openExec(pod, ["sh"], { tty: true });
    const [socket] = sockets;
    assert.ok(socket);
    assert.match(socket.request.path, /\?command=sh&stdin=true&stdout=true&tty=true$/);
    await session.resize({ width: 132, height: 43 });
    const [resized] = socket.sent;
    assert.equal(resized?.[0], 4);
    assert.equal(Buffer.from(resized.subarray(1)).toString(), '{"Width":132,"Height":43}');
    await session.write("exit\r");
    socket.output(1, "");
    socket.output(1, "exit\r\n");
    socket.output(3, succeeded);
    const chunks: string[] = [];
    for await (const { stream, data } of session) {
      chunks.push(`${stream} ${Buffer.from(data).toString()}`);
    }
    assert.deepEqual(chunks, ["stdout exit\r\n"]);
    assert.equal(session.exitCode, 0);
    assert.equal(await session.read(), undefined);
  });

  test("that is closed rejects its reader, as that of a closed client", async () => {
    const { client } = clientOf();
    const session = await client.attach(pod);
    const reading = session.read();
    session.close();
    await assert.rejects(reading, CancelledError);
    const other = await client.attach(pod);
    const last = other.read();
    client.close();
    await assert.rejects(last, CancelledError);
    await assert.rejects(client.attach(pod), CancelledError);
  });

  test("that was lost rejects a writer", async () => {
    const { client, sockets } = clientOf();
    const session = await client.attach(pod, { stdin: true });
    Object.assign(sockets[0] ?? {}, { send: () => Promise.reject(new LostError("reset")) });
    await assert.rejects(session.write("a"), /lost before the session ended: reset/);
  });
});

suite("a connection to a port", () => {
  test("sends and receives, after the message with the port", async () => {
    const { client, sockets } = clientOf((socket) => {
      socket.output(0, "\x07\0");
      socket.output(1, "\x07\0");
      socket.output(0, "hello");
      socket.inbox.closedByPeer(1000, "");
    });
    const stream = await client.openPort(pod, 7);
    await stream.write(Buffer.from("typed"));
    const received: string[] = [];
    for await (const data of stream) received.push(Buffer.from(data).toString());
    assert.deepEqual(received, ["hello"]);
    assert.equal(sockets[0]?.input, "typed");
    assert.equal(
      sockets[0].request.path,
      "/api/v1/namespaces/default/pods/web/portforward?ports=7",
    );
  });

  test("rejects its reader with the error of the node", async () => {
    const { client } = clientOf((socket) => {
      socket.output(1, "\x07\0");
      socket.output(1, "connection refused");
    });
    const stream = await client.openPort(pod, 7);
    await assert.rejects(stream.read(), (error: unknown) => {
      assert.ok(error instanceof UnavailableError);
      assert.equal(error.message, "port 7 of the pod: connection refused");
      return true;
    });
  });
});

/** Waits until a condition is met, between other tasks. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setImmediate(resolve));
}
