import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { createClient, KubeconnectError, type Client, type LogStream } from "../src/index.js";
import { GetLogsRequestSchema, LogStream as Value, type GetLogsRequest } from "../src/proto.js";
import { podsTransport } from "./fixture.js";

const web = { namespace: "demo", name: "web" };
const bytes = (text: string) => new TextEncoder().encode(text);

/** Creates a client of pods with this log. */
function writing(...pieces: Uint8Array[]): Client {
  return createClient(
    podsTransport({
      // eslint-disable-next-line @typescript-eslint/require-await
      async *getLogs() {
        for (const data of pieces) yield { data };
      },
    }),
  );
}

async function all<T>(values: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const value of values) collected.push(value);
  return collected;
}

suite("log", () => {
  test("is read by line", async () => {
    const client = writing(bytes("one\ntwo\n"), bytes("\n"), bytes("three\r\n"), bytes("no end"));
    assert.deepEqual(await all(client.logs(web)), ["one", "two", "", "three\r", "no end"]);
  });

  test("has no line if nothing was written", async () => {
    assert.deepEqual(await all(writing().logs(web)), []);
  });

  test("puts lines and characters together", async () => {
    const text = bytes("\ufeffGrüße 🌍\n");
    const client = writing(...Array.from(text, (_, at) => text.subarray(at, at + 1)));
    assert.deepEqual(await all(client.logs(web)), ["\ufeffGrüße 🌍"]);
  });

  test("replaces invalid UTF-8 in lines, and returns bytes unchanged", async () => {
    const client = writing(new Uint8Array([97, 255, 98, 10, 99]), bytes(""), bytes("d"));
    assert.deepEqual(await all(client.logs(web)), ["a\ufffdb", "cd"]);
    assert.deepEqual(await client.logs(web).bytes(), new Uint8Array([97, 255, 98, 10, 99, 100]));
    assert.equal((await all(client.logs(web).chunks())).length, 2);
  });

  test("sends all options", async () => {
    const requests: GetLogsRequest[] = [];
    const client = createClient(
      podsTransport({
        // eslint-disable-next-line @typescript-eslint/require-await, require-yield
        async *getLogs(request) {
          requests.push(request);
        },
      }),
    );
    await all(
      client.logs(web, {
        container: "main",
        follow: true,
        previous: true,
        sinceSeconds: 1,
        sinceTime: new Date(7_999),
        tailLines: 0,
        limitBytes: 3,
        timestamps: true,
        stream: "stderr",
      }),
    );
    await all(client.logs(web));
    assert.deepEqual(requests, [
      create(GetLogsRequestSchema, {
        ...web,
        container: "main",
        follow: true,
        previous: true,
        sinceSeconds: 1n,
        sinceTime: { seconds: 7n },
        tailLines: 0n,
        limitBytes: 3n,
        timestamps: true,
        stream: Value.STDERR,
      }),
      create(GetLogsRequestSchema, web),
    ]);
  });

  test("rejects an unknown stream", async () => {
    const stream = "stdin" as LogStream;
    await assert.rejects(all(writing().logs(web, { stream })), TypeError);
  });

  test("fails with the error of the stream, after the received lines", async () => {
    const client = createClient(
      podsTransport({
        // eslint-disable-next-line @typescript-eslint/require-await
        async *getLogs() {
          yield { data: bytes("one\n") };
          throw new ConnectError("the log was cut off", Code.Unavailable);
        },
      }),
    );
    const lines = client.logs(web)[Symbol.asyncIterator]();
    assert.equal((await lines.next()).value, "one");
    await assert.rejects(
      lines.next(),
      (error) => error instanceof KubeconnectError && error.code === Code.Unavailable,
    );
  });

  test("ends at the service when the loop is left", async () => {
    let end!: () => void;
    const ended = new Promise<void>((resolve) => (end = resolve));
    const client = createClient(
      podsTransport({
        async *getLogs(_, { signal }) {
          signal.addEventListener("abort", end);
          yield { data: bytes("one\n") };
          await ended;
        },
      }),
    );
    for await (const line of client.logs(web, { follow: true })) {
      assert.equal(line, "one");
      break;
    }
    await ended;
  });
});
