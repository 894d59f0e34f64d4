import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  follow,
  KubeconnectError,
  RetryPolicy,
  watchdog,
  type ConnectionState,
  type OpenWatch,
  type Sleep,
  type WatchBatch,
} from "../src/index.js";
import { clientOf } from "./fixture.js";

const reset = batchOf("RESET", "");
const synced = batchOf("SYNCED", "t1");
const bookmark = batchOf("BOOKMARK", "t2");
const lost = KubeconnectError.unavailable("lost");

function batchOf(type: "RESET" | "SYNCED" | "BOOKMARK", resumeToken: string): WatchBatch {
  const events = [{ type, resourceVersion: "1" }];
  return {
    events,
    resumeToken,
    freshness: undefined,
    source: "cache",
    namespaces: [],
    warnings: [],
  };
}

/** Creates a watch whose nth stream sends the nth batches, then fails. It records the tokens. */
function streams(...attempts: { send: WatchBatch[]; then?: Error }[]): OpenWatch & {
  readonly tokens: string[];
} {
  const tokens: string[] = [];
  // eslint-disable-next-line @typescript-eslint/require-await -- a stream that never waits
  async function* open(_: AbortSignal, resumeToken: string): AsyncGenerator<WatchBatch> {
    const attempt = attempts[tokens.push(resumeToken) - 1];
    assert.ok(attempt, "opened too often");
    yield* attempt.send;
    if (attempt.then !== undefined) throw attempt.then;
  }
  return Object.assign(open, { tokens });
}

/** Returns the types of the first batches of a watch that is followed without delays. */
async function followed(count: number, open: OpenWatch, resumeToken?: string): Promise<string[]> {
  const { signal } = new AbortController();
  const seen: string[] = [];
  const sleep: Sleep = () => Promise.resolve();
  const isFinal = (): boolean => false;
  for await (const batch of follow(open, { signal, sleep, isFinal, resumeToken })) {
    if (seen.push(batch.events[0]?.type ?? "") === count) break;
  }
  return seen;
}

const never: Sleep = (_, signal) =>
  new Promise((_, reject) => {
    signal.addEventListener("abort", () => {
      reject(signal.reason as Error);
    });
  });

/** Fails with the signal's reason when it aborts. */
function until(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener("abort", () => {
      reject(signal.reason as Error);
    });
  });
}

/** Waits until all pending promises have settled. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

suite("RetryPolicy", () => {
  test("waits longer after each failure, up to a limit, with half of the delay random", () => {
    const least = new RetryPolicy({ firstDelayMs: 100, maxDelayMs: 300, random: () => 0 });
    assert.deepEqual(
      [1, 2, 3, 4].map(() => least.failed(lost)),
      [50, 100, 150, 150],
    );
    const most = new RetryPolicy({ firstDelayMs: 100, maxDelayMs: 300, random: () => 1 });
    assert.deepEqual(
      [1, 2, 3, 4].map(() => most.failed(lost)),
      [100, 200, 300, 300],
    );
  });

  test("resets the delay after a batch with a token, not before", () => {
    const retry = new RetryPolicy({ firstDelayMs: 100, random: () => 1 });
    retry.failed(lost);
    retry.received(reset);
    assert.equal(retry.failed(lost), 200);
    retry.received(synced);
    assert.equal(retry.failed(lost), 100);
  });

  test("gives up if the request is invalid", () => {
    const wrong = KubeconnectError.from(new ConnectError("bad selector", Code.InvalidArgument));
    assert.equal(new RetryPolicy().failed(wrong), undefined);
    assert.notEqual(new RetryPolicy({ isFinal: () => false }).failed(wrong), undefined);
  });
});

suite("follow", () => {
  test("opens a new stream after a failure and after an end, and reports the reason", async () => {
    const stop = new AbortController();
    const seen: WatchBatch[] = [];
    const reasons: string[] = [];
    const open = streams(
      { send: [reset], then: lost },
      { send: [reset, synced] },
      { send: [reset, synced], then: new Error("not reached") },
    );
    const following = follow(open, {
      signal: stop.signal,
      sleep: () => Promise.resolve(),
      onRetry: (error) => reasons.push(error.message),
    });
    for await (const batch of following) {
      if (seen.push(batch) === 5) break;
    }
    assert.deepEqual(seen, [reset, reset, synced, reset, synced]);
    assert.deepEqual(reasons, ["lost", "the service ended the stream"]);
  });

  test("resumes at the last token", async () => {
    const open = streams(
      { send: [reset, synced], then: lost },
      { send: [], then: lost },
      { send: [bookmark] },
      { send: [bookmark] },
    );
    assert.deepEqual(await followed(4, open), ["RESET", "SYNCED", "BOOKMARK", "BOOKMARK"]);
    assert.deepEqual(open.tokens, ["", "t1", "t1", "t2"]);
  });

  test("begins at the caller's token", async () => {
    const open = streams({ send: [], then: lost }, { send: [bookmark] });
    await followed(1, open, "t0");
    assert.deepEqual(open.tokens, ["t0", "t0"]);
  });

  test("begins with a snapshot if the last one was incomplete", async () => {
    const open = streams({ send: [synced, reset], then: lost }, { send: [reset] });
    assert.deepEqual(await followed(3, open), ["SYNCED", "RESET", "RESET"]);
    assert.deepEqual(open.tokens, ["", ""]);
  });

  test("begins with a snapshot if a token is rejected and the error is not final", async () => {
    const wrong = new ConnectError("not a token of this selection", Code.InvalidArgument);
    const open = streams({ send: [], then: wrong }, { send: [reset] });
    assert.deepEqual(await followed(1, open, "t0"), ["RESET"]);
    assert.deepEqual(open.tokens, ["t0", ""]);
  });

  test("throws a final error", async () => {
    const wrong = new ConnectError("bad selector", Code.InvalidArgument);
    const { signal } = new AbortController();
    const following = follow(streams({ send: [], then: wrong }), { signal });
    await assert.rejects(following.next(), { name: "KubeconnectError", message: "bad selector" });
  });

  test("reports the connection state, and since when", async (t) => {
    t.mock.timers.enable({ apis: ["Date"], now: 1_000 });
    const at = (ms: number): Date => new Date(ms);
    const open = streams(
      { send: [], then: lost },
      { send: [reset, synced], then: lost },
      { send: [], then: KubeconnectError.unavailable("still lost") },
      { send: [bookmark] },
    );
    const changes: ConnectionState[] = [];
    const batches = follow(open, {
      signal: t.signal,
      sleep: () => {
        t.mock.timers.tick(1_000);
        return Promise.resolve();
      },
      onConnection: (connection) => changes.push(connection),
    });
    assert.deepEqual(batches.connection, { state: "connecting", since: at(1_000) });
    await batches.next();
    t.mock.timers.tick(5_000);
    await batches.next();
    assert.deepEqual(batches.connection, { state: "connected", since: at(2_000) });
    t.mock.timers.tick(1_000);
    await batches.next();
    assert.deepEqual(changes, [
      { state: "lost", since: at(1_000), error: lost },
      { state: "connected", since: at(2_000) },
      { state: "lost", since: at(7_000), error: lost },
      { state: "connected", since: at(10_000) },
    ]);
  });

  test("opens a new stream after silence, and waits longer for its first batch", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const opened: string[] = [];
    const silent: OpenWatch = async function* (signal, resumeToken) {
      if (opened.push(resumeToken) !== 2) yield synced;
      await until(signal);
    };
    const batches = follow(silent, { signal: t.signal, sleep: () => Promise.resolve() });
    await batches.next();
    const next = batches.next();
    const openedAfter = async (ms: number): Promise<number> => {
      await settled();
      t.mock.timers.tick(ms);
      await settled();
      return opened.length;
    };
    assert.equal(await openedAfter(11_999), 1);
    assert.equal(await openedAfter(1), 2);
    assert.equal(batches.connection.state, "lost");
    assert.equal(await openedAfter(59_999), 2);
    assert.equal(await openedAfter(1), 3);
    await next;
    assert.equal(batches.connection.state, "connected");
    assert.deepEqual(opened, ["", "t1", "t1"]);
  });

  test("leaves a replica that is stale for too long, and doubles the time for each further one", async (t) => {
    t.mock.timers.enable({ apis: ["Date"], now: 1_000 });
    const batch = (stale: boolean): WatchBatch => ({
      ...bookmark,
      freshness: { stale, lastContact: undefined },
    });
    const reasons: unknown[] = [];
    let stale = true;
    // eslint-disable-next-line @typescript-eslint/require-await -- a stream that never waits
    const open: OpenWatch = async function* (signal) {
      signal.addEventListener("abort", () => reasons.push(signal.reason));
      for (;;) yield batch(stale);
    };
    const options = { signal: t.signal, sleep: () => Promise.resolve(), random: () => 0 };
    const batches = follow(open, options);
    const lasted: number[] = [];
    let since = Date.now();
    const next = async (): Promise<void> => {
      await batches.next();
      if (reasons.length === lasted.length) return;
      lasted.push(Date.now() - since);
      since = Date.now();
    };
    for (let second = 0; second < 400; second++) {
      await next();
      t.mock.timers.tick(1_000);
    }
    assert.deepEqual(lasted, [11_000, 21_000, 41_000, 81_000, 161_000]);
    stale = false;
    await next();
    stale = true;
    since = Date.now();
    while (lasted.length < 6) {
      await next();
      t.mock.timers.tick(1_000);
    }
    assert.equal(lasted.at(-1), 11_000);
    assert.deepEqual(
      new Set(reasons.map((reason) => (reason as KubeconnectError).code)),
      new Set([Code.Unavailable]),
    );
  });

  test("stays with a stale replica without a limit", async (t) => {
    t.mock.timers.enable({ apis: ["Date"], now: 1_000 });
    const stale = { ...bookmark, freshness: { stale: true, lastContact: undefined } };
    const open = streams({ send: [stale, stale, stale] });
    const batches = follow(open, { signal: t.signal, maxStalenessMs: Infinity });
    for (let day = 0; day < 3; day++) {
      await batches.next();
      t.mock.timers.tick(86_400_000);
    }
    assert.deepEqual(open.tokens, [""]);
  });

  test("opens an open stream once more when its token has expired", async () => {
    const expired = KubeconnectError.from(new ConnectError("expired", Code.Unauthenticated));
    const open = streams({ send: [synced], then: expired }, { send: [], then: expired });
    const { signal } = new AbortController();
    const batches = follow(open, { signal, sleep: () => Promise.resolve() });
    await batches.next();
    await assert.rejects(batches.next(), expired);
    assert.deepEqual(open.tokens, ["", "t1"]);
  });

  test("does not warn of a leak if many calls share a signal", async () => {
    const warnings: Error[] = [];
    const note = (warning: Error): void => {
      warnings.push(warning);
    };
    process.on("warning", note);
    const stop = new AbortController();
    const waiting: Promise<unknown>[] = [];
    for (let i = 0; i < 20; i++) {
      const retried = new Promise<void>((resolve) => {
        const open = streams({ send: [], then: lost });
        const options = { signal: stop.signal, firstDelayMs: 60_000, maxDelayMs: 60_000 };
        const batches = follow(open, {
          ...options,
          onRetry: () => {
            resolve();
          },
        });
        waiting.push(assert.rejects(batches.next()));
      });
      await retried;
    }
    const client = clientOf({ get: (_, { signal }) => until(signal) });
    for (let i = 0; i < 20; i++) {
      waiting.push(assert.rejects(client.get("pods", { name: "web" }, { signal: stop.signal })));
    }
    await settled();
    stop.abort();
    await Promise.all(waiting);
    process.off("warning", note);
    assert.deepEqual(warnings, []);
  });

  test("ends during a delay when the caller's signal aborts", async () => {
    const stop = new AbortController();
    const following = follow(streams({ send: [], then: lost }), {
      signal: stop.signal,
      sleep: never,
      onRetry: () => {
        queueMicrotask(() => {
          stop.abort(new Error("enough"));
        });
      },
    });
    await assert.rejects(following.next(), { message: "enough" });
  });
});

suite("watchdog", () => {
  test("fails a silent stream", async () => {
    const silent: OpenWatch = async function* (signal) {
      yield synced;
      await new Promise((_, reject) => {
        signal.addEventListener("abort", () => {
          reject(signal.reason as Error);
        });
      });
    };
    const waits: (() => void)[] = [];
    const onDemand: Sleep = () => new Promise((resolve) => waits.push(resolve));
    const watch = watchdog(silent, {}, onDemand)(new AbortController().signal, "");
    const batches = watch[Symbol.asyncIterator]();
    assert.equal((await batches.next()).value, synced);
    const next = batches.next();
    waits.at(-1)?.();
    await assert.rejects(next, { message: "no message received for 12 s" });
  });

  test("passes through a stream that is not silent", async () => {
    const open = streams({ send: [reset, synced] });
    const watch = watchdog(open, {}, never);
    const seen: WatchBatch[] = [];
    for await (const batch of watch(new AbortController().signal, "t0")) seen.push(batch);
    assert.deepEqual(seen, [reset, synced]);
    assert.deepEqual(open.tokens, ["t0"]);
  });
});
