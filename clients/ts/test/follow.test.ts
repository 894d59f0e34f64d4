import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  follow,
  KubeconnectError,
  RetryPolicy,
  watchdog,
  type OpenWatch,
  type Sleep,
  type WatchBatch,
} from "../src/index.js";

const reset: WatchBatch = { events: [{ type: "RESET", resourceVersion: "" }] };
const synced: WatchBatch = { events: [{ type: "SYNCED", resourceVersion: "1" }] };
const lost = KubeconnectError.unavailable("lost");

/** A watch whose nth stream sends the nth batches, then fails. */
function streams(...attempts: { send: WatchBatch[]; then?: Error }[]): OpenWatch {
  let next = 0;
  // eslint-disable-next-line @typescript-eslint/require-await -- a stream that never waits
  return async function* () {
    const attempt = attempts[next++];
    assert.ok(attempt, "opened too often");
    yield* attempt.send;
    if (attempt.then !== undefined) throw attempt.then;
  };
}

const never: Sleep = (_, signal) =>
  new Promise((_, reject) => {
    signal.addEventListener("abort", () => {
      reject(signal.reason as Error);
    });
  });

suite("RetryPolicy", () => {
  test("waits longer after each failure, up to a limit, and half of it by chance", () => {
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

  test("starts over once a stream has got as far as SYNCED, not before", () => {
    const retry = new RetryPolicy({ firstDelayMs: 100, random: () => 1 });
    retry.failed(lost);
    retry.received(reset);
    assert.equal(retry.failed(lost), 200);
    retry.received(synced);
    assert.equal(retry.failed(lost), 100);
  });

  test("gives up where the request itself is wrong", () => {
    const wrong = KubeconnectError.from(new ConnectError("bad selector", Code.InvalidArgument));
    assert.equal(new RetryPolicy().failed(wrong), undefined);
    assert.notEqual(new RetryPolicy({ isFinal: () => false }).failed(wrong), undefined);
  });
});

suite("follow", () => {
  test("opens a new stream after a failure and after an end, and tells why", async () => {
    const stop = new AbortController();
    const seen: WatchBatch[] = [];
    const told: string[] = [];
    const open = streams(
      { send: [reset], then: lost },
      { send: [reset, synced] },
      { send: [reset, synced], then: new Error("not reached") },
    );
    const following = follow(open, {
      signal: stop.signal,
      sleep: () => Promise.resolve(),
      onRetry: (error) => told.push(error.message),
    });
    for await (const batch of following) {
      if (seen.push(batch) === 5) break;
    }
    assert.deepEqual(seen, [reset, reset, synced, reset, synced]);
    assert.deepEqual(told, ["lost", "the service ended the stream"]);
  });

  test("throws what trying again cannot cure", async () => {
    const wrong = new ConnectError("bad selector", Code.InvalidArgument);
    const { signal } = new AbortController();
    const following = follow(streams({ send: [], then: wrong }), { signal });
    await assert.rejects(following.next(), { name: "KubeconnectError", message: "bad selector" });
  });

  test("ends while it waits when the caller's signal says so", async () => {
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
  test("fails a stream that has gone silent", async () => {
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
    const watch = watchdog(silent, 30_000, onDemand)(new AbortController().signal);
    const batches = watch[Symbol.asyncIterator]();
    assert.equal((await batches.next()).value, synced);
    const next = batches.next();
    waits.at(-1)?.();
    await assert.rejects(next, { message: "nothing has come for 30 s" });
  });

  test("passes a stream through that is not silent", async () => {
    const watch = watchdog(streams({ send: [reset, synced] }), 30_000, never);
    const seen: WatchBatch[] = [];
    for await (const batch of watch(new AbortController().signal)) seen.push(batch);
    assert.deepEqual(seen, [reset, synced]);
  });
});
