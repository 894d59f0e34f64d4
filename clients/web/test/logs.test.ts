import { ConnectError } from "@connectrpc/connect";
import { Code, KubeconnectError, type LogEvent } from "@kubeconnect/client";
import { describe, expect, test } from "vitest";
import { RowBuffer, type NewRow } from "../src/logs/buffer.js";
import { connectionNote } from "../src/logs/feed.js";
import { levelOf } from "../src/logs/levels.js";
import { plainText } from "../src/logs/plain.js";
import { noteRow } from "../src/logs/row.js";
import { Finder, nextMatch, partsOf } from "../src/logs/search.js";
import { defaultSettings, queryOf } from "../src/logs/settings.js";
import { colorsOf, fileText, labelsOf, nameColumns } from "../src/logs/sources.js";
import { podsOfSearch } from "../src/logs/target.js";
import { containersOf } from "../src/model/containernames.js";

describe("levelOf", () => {
  test.each([
    ["E0102 15:04:05.000000       1 a.go:1] failed", "error"],
    ["W0102 15:04:05.000000       1 a.go:1] slow", "warn"],
    ['{"ts":1,"level":"warning","msg":"ERROR is only a word here"}', "warn"],
    ['{"level":50,"msg":"pino"}', "error"],
    ['{"severity":"INFO","message":"x"}', "info"],
    ["time=1 level=debug msg=x", "debug"],
    ["2026-01-02 15:04:05 [error] 12#12: open() failed", "error"],
    ["2026-01-02T15:04:05Z WARN slow", "warn"],
    ["[INFO] started", "info"],
    ["TRACE entering", "debug"],
  ])("reads %s as %s", (text, level) => {
    expect(levelOf(text)).toBe(level);
  });

  test.each([
    "an error in the middle of a sentence",
    "GET /INFO/x 200",
    "",
    "Exxx",
    "[1234] x",
    "[constructor] x",
  ])("reads no level in %j", (text) => {
    expect(levelOf(text)).toBeUndefined();
  });
});

describe("plainText", () => {
  const escape = String.fromCharCode(27);
  test.each([
    [`${escape}[31mred${escape}[0m text`, "red text"],
    [`${escape}]8;;http://x${String.fromCharCode(7)}link${escape}]8;;${escape}\\`, "link"],
    ["with\ttab and end\r", "with\ttab and end"],
    [`bell${String.fromCharCode(7)}`, "bell\ufffd"],
    ["reversed \u202etxt", "reversed \ufffdtxt"],
    ["<b>text</b>", "<b>text</b>"],
  ])("%j becomes %j", (text, plain) => {
    expect(plainText(text)).toBe(plain);
  });
});

function line(text: string): NewRow {
  const flags = { context: false, gap: false, cut: false };
  return { kind: "line", source: "a/b", timestamp: "", text, level: undefined, ...flags };
}

describe("RowBuffer", () => {
  test("keeps the last rows and counts the others", () => {
    const buffer = new RowBuffer(10);
    for (let i = 0; i < 25; i++) buffer.push(line(String(i)));
    expect(buffer.rows().map(({ text }) => text)).toEqual([
      "15",
      "16",
      "17",
      "18",
      "19",
      "20",
      "21",
      "22",
      "23",
      "24",
    ]);
    expect(buffer.rows()[0]?.id).toBe(15);
    expect(buffer.dropped).toBe(15);
  });

  test("returns lists that do not change", () => {
    const buffer = new RowBuffer(10);
    buffer.push(line("a"));
    const rows = buffer.rows();
    buffer.push(line("b"));
    expect(rows).toHaveLength(1);
    expect(buffer.take()).toHaveLength(2);
    expect([buffer.size, buffer.dropped]).toEqual([0, 0]);
  });
});

describe("repeated notes", () => {
  const failed: NewRow = { kind: "note", source: "a/b", tone: "bad", text: "cannot be read" };
  const waiting: NewRow = { ...failed, tone: "info", text: "no log yet" };
  const timesOf = (buffer: RowBuffer) =>
    buffer.rows().map((row) => (row.kind === "note" ? (row.times ?? 1) : "line"));

  test("are counted, also when two notes alternate", () => {
    const buffer = new RowBuffer(10);
    buffer.push(failed, waiting);
    const before = buffer.rows();
    buffer.push(failed, waiting, failed);
    expect(timesOf(buffer)).toEqual([3, 2]);
    expect(before[0]).not.toHaveProperty("times");
  });

  test("are notes of their own after a line of the container, and for each container", () => {
    const buffer = new RowBuffer(10);
    buffer.push(failed, { ...failed, source: "a/other" }, line("text"), failed);
    expect(timesOf(buffer)).toEqual([1, 1, "line", 1]);
  });

  test("are notes of their own when the first one was dropped or taken", () => {
    const buffer = new RowBuffer(10);
    buffer.push(failed);
    for (let i = 0; i < 12; i++) buffer.push({ ...line(String(i)), source: "a/other" });
    buffer.push(failed);
    expect(timesOf(buffer).at(-1)).toBe(1);
    buffer.push(...buffer.take(), failed);
    expect(timesOf(buffer).at(-1)).toBe(2);
    buffer.take();
    buffer.push(failed);
    expect(timesOf(buffer)).toEqual([1]);
  });
});

describe("search", () => {
  test("splits a text at its matches", () => {
    expect(partsOf("An error: ERROR", "error").map((part) => [part.text, part.isMatch])).toEqual([
      ["An ", false],
      ["error", true],
      [": ", false],
      ["ERROR", true],
    ]);
  });

  test("finds rows that are added later, and forgets those that are dropped", () => {
    const buffer = new RowBuffer(10);
    const finder = new Finder("hit");
    buffer.push(line("a hit"), line("none"));
    expect(finder.in(buffer.rows())).toEqual([0]);
    buffer.push(line("HIT"));
    expect(finder.in(buffer.rows())).toEqual([0, 2]);
    for (let i = 0; i < 9; i++) buffer.push(line("none"));
    expect(finder.in(buffer.rows())).toEqual([2]);
  });

  test("goes round at the ends", () => {
    expect(nextMatch([2, 5], undefined, 1)).toBe(2);
    expect(nextMatch([2, 5], 5, 1)).toBe(2);
    expect(nextMatch([2, 5], 2, -1)).toBe(5);
    expect(nextMatch([], 2, 1)).toBeUndefined();
  });
});

describe("sources", () => {
  const sources = ["web-1-abc/app", "web-1-abc/proxy", "web-1-def/app"];

  test("gives containers different colors, the same in each call", () => {
    const colors = colorsOf(sources);
    expect(new Set(colors.values()).size).toBe(3);
    expect(colorsOf(sources)).toEqual(colors);
  });

  test("leaves out what all names have in common", () => {
    expect([...labelsOf(sources).values()]).toEqual(["abc/app", "abc/proxy", "def/app"]);
    expect([...labelsOf(["web-0/a", "web-0/b"]).values()]).toEqual(["a", "b"]);
    expect([...labelsOf(["web-0/a", "web-1/a"]).values()]).toEqual(["0", "1"]);
  });

  test("have as many columns as the longest label, up to a bound", () => {
    expect(nameColumns(labelsOf(["web-0/a", "web-10/a"]))).toBe(2);
    expect(nameColumns(new Map([["x", "a".repeat(40)]]))).toBe(16);
    expect(nameColumns(new Map())).toBe(0);
  });

  test("writes only lines to a file", () => {
    const note = { kind: "note", source: "", text: "connection lost" };
    expect(fileText([{ ...line("x"), timestamp: "T" }, note])).toBe("T a/b x\n");
  });
});

test("a container that fails is reported with its reason and exit code", () => {
  const event: LogEvent = {
    type: "ENDED",
    namespace: "n",
    pod: "p",
    podUid: "",
    container: "c",
    restartCount: 0,
    reason: "OOMKilled",
    message: "",
    exitCode: 137,
  };
  expect(noteRow(event)).toMatchObject({
    source: "p/c",
    tone: "bad",
    text: "the container has ended: OOMKilled, exit code 137",
  });
});

test("the connection is noted when it is lost, and when it is back", () => {
  const since = new Date();
  const lost = { state: "lost", since, error: new Error() as never } as const;
  expect(connectionNote(undefined, { state: "connected", since })).toBeUndefined();
  expect(connectionNote({ state: "connected", since }, lost)?.tone).toBe("bad");
  expect(connectionNote(lost, { state: "connected", since })?.tone).toBe("info");
  const error = KubeconnectError.from(new ConnectError("not valid", Code.InvalidArgument));
  expect(connectionNote(undefined, { ...lost, error })).toBeUndefined();
});

test("the query has what the user has chosen", () => {
  const settings = {
    ...defaultSettings,
    container: "a.b",
    since: "300",
    filter: "x",
    context: "2",
  };
  expect(queryOf({ name: "p" }, settings)).toMatchObject({
    name: "p",
    container: "a\\.b",
    follow: true,
    sinceSeconds: 300,
    tailLines: 1000,
    lineFilter: { contains: "x", beforeLines: 2, afterLines: 2 },
  });
  expect(queryOf({}, { ...settings, previous: true })).not.toHaveProperty("follow");
});

test("an address selects a pod, a workload, or pods by labels", () => {
  expect(podsOfSearch({ of: "pods/n/p" })).toEqual({ namespace: "n", name: "p" });
  expect(podsOfSearch({ of: "deployments/n/web" })).toEqual({
    namespace: "n",
    related: { type: "selectedBy", resource: "deployments", namespace: "n", name: "web" },
  });
  expect(podsOfSearch({ labels: "a=b", ns: "n" })).toEqual({
    namespace: "n",
    labelSelector: "a=b",
  });
  expect(podsOfSearch({ of: "pods" })).toBeUndefined();
});

test("the containers of a workload are those of its template", () => {
  const spec = { containers: [{ name: "app" }], initContainers: [{ name: "init" }] };
  expect(containersOf({ spec: { template: { spec } } })).toEqual(["app", "init"]);
  expect(containersOf({ spec })).toEqual(["app", "init"]);
});
