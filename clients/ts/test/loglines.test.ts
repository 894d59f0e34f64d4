import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { LogEvent, LogLinesOptions } from "../src/index.js";
import {
  GetLogLinesRequestSchema,
  GetLogLinesResponseSchema,
  LogEventType,
  LogPositionSchema,
  type GetLogLinesRequest,
  type GetLogLinesResponse,
  type LogLineSchema,
} from "../src/proto.js";
import { LogProgress } from "../src/logprogress.js";
import { FakeStreams, podsClientOf } from "./fixture.js";

type Response = MessageInitShape<typeof GetLogLinesResponseSchema>;

const lost = new ConnectError("lost", Code.Unavailable);
const noDelay = (): Promise<void> => Promise.resolve();

function service(options: LogLinesOptions) {
  const streams = new FakeStreams<GetLogLinesRequest, Response>();
  const logs = podsClientOf({ getLogLines: streams.open }).logLines({ sleep: noDelay, ...options });
  return { streams, logs, lines: logs[Symbol.asyncIterator]() };
}

function line(pod: string, text: string, second = 1): MessageInitShape<typeof LogLineSchema> {
  const time = { seconds: BigInt(second), nanos: 5_000_001 };
  const place = { namespace: "default", pod, container: "web", time, sequence: 2 };
  return { ...place, text: new TextEncoder().encode(text) };
}

function position(pod: string, second: number) {
  const time = { seconds: BigInt(second), nanos: 5_000_001 };
  const place = { namespace: "default", pod, container: "web", time, sequence: 2 };
  return create(LogPositionSchema, place);
}

suite("logLines", () => {
  test("sends all options", async () => {
    const selection = { namespace: "a", labelSelector: "b=c", fieldSelector: "d=e", filter: "f" };
    const containers = { container: "g", excludeContainer: "h", follow: true, maxLogs: 7 };
    const lineFilter = { regex: "i", ignoreCase: true, beforeLines: 1, afterLines: 2 };
    const since = { sinceTime: new Date(3_500), requireAllNamespaces: true };
    const limits = { tailLines: 3, limitLines: 4, limitLinesPerPod: 5, limitBytes: 6 };
    const all = { ...selection, ...containers, ...since, ...limits, lineFilter };
    const { streams, lines } = service(all);
    const first = lines.next();
    const stream = await streams.next();
    const want = create(GetLogLinesRequestSchema, {
      ...selection,
      ...containers,
      lineFilter,
      requireAllNamespaces: true,
      sinceTime: { seconds: 3n, nanos: 500_000_000 },
      tailLines: 3n,
      limitLines: 4n,
      limitLinesPerPod: 5n,
      limitBytes: 6n,
    });
    assert.deepEqual(stream.request, want);
    stream.send({ lines: [line("a", "x")] });
    await first;
    await lines.return();
    await stream.closed;
  });

  test("returns the lines with their places, and what happens to the logs", async () => {
    const events: LogEvent[] = [];
    const { streams, logs, lines } = service({ onEvent: (event) => events.push(event) });
    const first = lines.next();
    const stream = await streams.next();
    const began = { type: LogEventType.BEGAN, pod: "a", container: "web", restartCount: 1 };
    const more = { context: true, gap: true, cut: true };
    const state = { namespaces: ["default"], warnings: ["only some"] };
    stream.send({ events: [began], lines: [{ ...line("a", "x\ufeffé"), ...more }], ...state });
    const { value } = await first;
    assert.ok(value);
    assert.equal(value.text, "x\ufeffé");
    assert.deepEqual([value.namespace, value.pod, value.container], ["default", "a", "web"]);
    assert.equal(value.timestamp, "1970-01-01T00:00:01.005000001Z");
    assert.deepEqual(value.time, new Date(1_005));
    assert.deepEqual([value.context, value.gap, value.cut], [true, true, true]);
    assert.deepEqual(
      events.map(({ type, restartCount, exitCode }) => [type, restartCount, exitCode]),
      [["BEGAN", 1, undefined]],
    );
    assert.deepEqual([logs.namespaces, logs.warnings], [["default"], ["only some"]]);
    stream.end();
    assert.equal((await lines.next()).done, true);
  });

  test("continues after the last line of each container", async () => {
    const { streams, lines, logs } = service({ follow: true, limitLines: 9 });
    const first = lines.next();
    const stream = await streams.next();
    stream.send({ lines: [line("a", "1", 1), line("b", "2", 2), line("a", "3", 3)] });
    stream.send({ positions: [position("b", 4)] }, lost);
    await first;
    await lines.next();
    await lines.next();
    const next = lines.next();
    const again = await streams.next();
    assert.deepEqual(again.request.resumeAfter, [position("a", 3), position("b", 4)]);
    assert.equal(again.request.limitLines, 6n);
    assert.equal(logs.connection.state, "lost");
    again.send({ lines: [line("b", "5", 5)] });
    assert.equal((await next).value?.text, "5");
    await lines.return();
  });

  test("opens a followed stream again that has ended, unless the limit is reached", async () => {
    const { streams, lines } = service({ follow: true });
    const first = lines.next();
    (await streams.next()).end();
    await assert.rejects(first, { code: Code.Unavailable });
    const later = service({ follow: true, limitLines: 1 });
    const line1 = later.lines.next();
    const stream = await later.streams.next();
    stream.send({ lines: [line("a", "1")], events: [{ type: LogEventType.LIMIT_REACHED }] });
    stream.end();
    assert.equal((await line1).value?.text, "1");
    assert.equal((await later.lines.next()).done, true);
    assert.equal(later.streams.waiting, 0);
  });

  test("throws the error of a rejected call", async () => {
    const { streams, lines } = service({ namespace: "a" });
    const first = lines.next();
    (await streams.next()).send(new ConnectError("no", Code.PermissionDenied));
    await assert.rejects(first, { code: Code.PermissionDenied });
  });
});

suite("LogProgress", () => {
  const received = (...positions: ReturnType<typeof position>[]): GetLogLinesResponse =>
    create(GetLogLinesResponseSchema, { positions });

  test("begins at the same time on each stream", ({ mock }) => {
    mock.timers.enable({ apis: ["Date"], now: 100_000 });
    const progress = new LogProgress({ sinceSeconds: 10n });
    const first = progress.request;
    assert.equal(first.sinceSeconds, 10n);
    mock.timers.setTime(150_000);
    progress.received(received());
    const { sinceTime, sinceSeconds } = progress.request;
    assert.deepEqual([sinceTime?.seconds, sinceSeconds], [90n, undefined]);
  });

  test("has as many positions as the service accepts, the latest ones", () => {
    const progress = new LogProgress({ follow: true });
    for (let i = 0; i < 4_100; i++) progress.received(received(position(`p${i}`, i)));
    progress.received(received(position("p4", 9_999)));
    const { resumeAfter = [] } = progress.request;
    assert.equal(resumeAfter.length, 4_096);
    assert.equal(resumeAfter[0]?.pod, "p5");
    assert.equal(resumeAfter.at(-1)?.pod, "p4");
  });
});
