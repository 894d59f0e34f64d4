import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { Code, ConnectError } from "@connectrpc/connect";
import { ConnectionTracker } from "../src/connection.js";
import {
  KubeconnectError,
  type ConnectionState,
  type ReconnectOptions,
  type Sleep,
  type WatchBatch,
} from "../src/index.js";
import { EventType, StatusSchema, type WatchRequest } from "../src/proto.js";
import { reconnecting, type ReconnectLimits } from "../src/reconnect.js";
import { RetryPolicy } from "../src/retry.js";
import { failWhenSilent, type OpenBatches } from "../src/silence.js";
import { clientOf, pod, podResource } from "./fixture.js";

type OpenWatch = OpenBatches<WatchBatch>;

const reset = batchOf("RESET", "");
const synced = batchOf("SYNCED", "t1");
const bookmark = batchOf("BOOKMARK", "t2");
const lost = KubeconnectError.unavailable("lost");
const moved = KubeconnectError.from(
  new ConnectError("moved", Code.Unavailable, undefined, [
    { desc: StatusSchema, value: { reason: "StreamMoved" } },
  ]),
);

const wrongToken = KubeconnectError.from(
  new ConnectError("the token cannot be read", Code.InvalidArgument),
);

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

const noDelay: Sleep = () => Promise.resolve();
const { signal: forever } = new AbortController();

/** Returns the types of the first batches of a watch that reconnects without delays. */
async function firstTypes(count: number, open: OpenWatch, resumeToken = ""): Promise<string[]> {
  const seen: string[] = [];
  const options = { sleep: noDelay, isFinal: () => false };
  for await (const batch of reconnecting(open, resumeToken, forever, options)) {
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

/** Returns an error that the service reports. */
function reported(code: Code, retryAfterSeconds = 0): KubeconnectError {
  const details = [{ desc: StatusSchema, value: { retryAfterSeconds } }];
  return KubeconnectError.from(new ConnectError("reported", code, undefined, details));
}

/** Returns an error of the connection. */
function failed(code: Code): KubeconnectError {
  return KubeconnectError.from(new ConnectError("failed", code));
}

suite("RetryPolicy", () => {
  /** Returns the policy of a watch that has received a message. */
  const established = (options: ConstructorParameters<typeof RetryPolicy>[0]): RetryPolicy => {
    const retry = new RetryPolicy(options);
    retry.received({ resumeToken: "t0" });
    return retry;
  };

  test("waits longer after each failure, up to a limit, with half of the delay random", () => {
    const least = established({ firstDelayMs: 100, maxDelayMs: 300, random: () => 0 });
    assert.deepEqual(
      [1, 2, 3, 4].map(() => least.failed(lost)),
      [50, 100, 150, 150],
    );
    const most = established({ firstDelayMs: 100, maxDelayMs: 300, random: () => 1 });
    assert.deepEqual(
      [1, 2, 3, 4].map(() => most.failed(lost)),
      [100, 200, 300, 300],
    );
  });

  test("resets the delay after a batch with a token, not before", () => {
    const retry = established({ firstDelayMs: 100, random: () => 1 });
    retry.failed(lost);
    retry.received(reset);
    assert.equal(retry.failed(lost), 200);
    retry.received(synced);
    assert.equal(retry.failed(lost), 100);
  });

  for (const { name, error, retried } of [
    { name: "an unreachable service", error: failed(Code.Unavailable), retried: true },
    { name: "a reset connection", error: failed(Code.Internal), retried: true },
    { name: "a refused fetch", error: failed(Code.Unknown), retried: true },
    { name: "a destroyed stream", error: failed(Code.Aborted), retried: true },
    { name: "a moved stream", error: reported(Code.Unavailable), retried: true },
    { name: "a deadline of the service", error: reported(Code.DeadlineExceeded), retried: true },
    { name: "a limit with a delay", error: reported(Code.ResourceExhausted, 1), retried: true },
    { name: "a limit without a delay", error: reported(Code.ResourceExhausted), retried: false },
    { name: "an internal error", error: reported(Code.Internal), retried: false },
    { name: "an unknown resource", error: reported(Code.NotFound), retried: false },
    { name: "a lost permission", error: reported(Code.PermissionDenied), retried: false },
    { name: "an invalid request", error: reported(Code.InvalidArgument), retried: false },
    { name: "a patch that does not apply", error: failed(Code.DataLoss), retried: false },
  ]) {
    test(`${retried ? "retries" : "gives up"} after ${name}`, () => {
      assert.equal(established({}).failed(error) !== undefined, retried);
      assert.equal(established({ reconnect: false }).failed(error), undefined);
      assert.notEqual(established({ isFinal: () => false }).failed(error), undefined);
    });
  }

  test("retries the first stream only with the service's delays, of 30 s in all", () => {
    const retry = new RetryPolicy();
    assert.equal(retry.failed(lost), undefined);
    assert.equal(retry.failed(reported(Code.Unavailable, 20)), 20_000);
    assert.equal(retry.failed(reported(Code.Unavailable, 20)), undefined);
    assert.equal(retry.failed(reported(Code.ResourceExhausted, 10)), 10_000);
    assert.notEqual(new RetryPolicy({ isFinal: () => false }).failed(lost), undefined);
  });

  test("opens a stream whose token has expired immediately, once", () => {
    const retry = established({});
    assert.equal(retry.failed(reported(Code.Unauthenticated)), 0);
    assert.equal(retry.failed(reported(Code.Unauthenticated)), undefined);
  });

  test("waits for credentials that can be renewed, longer each time", () => {
    const retry = established({ renewsCredentials: true, firstDelayMs: 100, random: () => 1 });
    const failures = [1, 2, 3, 4].map(() => retry.failed(reported(Code.Unauthenticated)));
    assert.deepEqual(failures, [0, 100, 200, 400]);
  });

  test("rejects a first stream whose credentials can be renewed", () => {
    const retry = new RetryPolicy({ renewsCredentials: true });
    assert.equal(retry.failed(reported(Code.Unauthenticated)), undefined);
  });
});

suite("a watch over several streams", () => {
  test("opens a new stream after a failure and after an end, and reports the reason", async () => {
    const seen: WatchBatch[] = [];
    const reasons: string[] = [];
    const open = streams(
      { send: [reset], then: lost },
      { send: [reset, synced] },
      { send: [reset, synced], then: new Error("not reached") },
    );
    const batches = reconnecting(open, "", forever, {
      sleep: noDelay,
      onRetry: (error) => reasons.push(error.message),
    });
    for await (const batch of batches) {
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
    assert.deepEqual(await firstTypes(4, open), ["RESET", "SYNCED", "BOOKMARK", "BOOKMARK"]);
    assert.deepEqual(open.tokens, ["", "t1", "t1", "t2"]);
  });

  test("begins at the caller's token", async () => {
    const open = streams({ send: [], then: lost }, { send: [bookmark] });
    await firstTypes(1, open, "t0");
    assert.deepEqual(open.tokens, ["t0", "t0"]);
  });

  test("begins with a snapshot if the last one was incomplete", async () => {
    const open = streams({ send: [synced, reset], then: lost }, { send: [reset] });
    assert.deepEqual(await firstTypes(3, open), ["SYNCED", "RESET", "RESET"]);
    assert.deepEqual(open.tokens, ["", ""]);
  });

  test("begins with a snapshot if a token is rejected, and reports why", async () => {
    const open = streams({ send: [], then: wrongToken }, { send: [reset, synced] });
    const reasons: string[] = [];
    const onRetry = ({ message }: KubeconnectError, delayMs: number): void => {
      reasons.push(`${message} ${delayMs}`);
    };
    const batches = reconnecting(open, "t0", forever, { sleep: noDelay, onRetry });
    assert.deepEqual([(await batches.next()).value, (await batches.next()).value], [reset, synced]);
    assert.deepEqual(open.tokens, ["t0", ""]);
    assert.deepEqual(reasons, ["the token cannot be read 0"]);
  });

  test("drops the token of an earlier stream that another replica rejects", async () => {
    const open = streams(
      { send: [reset, synced], then: lost },
      { send: [], then: wrongToken },
      { send: [reset] },
    );
    assert.deepEqual(await firstTypes(3, open), ["RESET", "SYNCED", "RESET"]);
    assert.deepEqual(open.tokens, ["", "t1", ""]);
  });

  for (const { name, attempts, tokens, token = "t0", options = {} } of [
    {
      name: "without a token",
      attempts: [{ send: [], then: wrongToken }],
      token: "",
      tokens: [""],
    },
    {
      name: "without the token too",
      attempts: [
        { send: [], then: wrongToken },
        { send: [], then: wrongToken },
      ],
      tokens: ["t0", ""],
    },
    {
      name: "after a message",
      attempts: [{ send: [bookmark], then: wrongToken }],
      tokens: ["t0"],
    },
    {
      name: "without reconnecting",
      attempts: [{ send: [], then: wrongToken }],
      tokens: ["t0"],
      options: { reconnect: false },
    },
  ]) {
    test(`throws the error of a request that is rejected ${name}`, async () => {
      const open = streams(...attempts);
      const batches = reconnecting(open, token, forever, { sleep: noDelay, ...options });
      await assert.rejects(async () => {
        for (;;) await batches.next();
      }, wrongToken);
      assert.deepEqual(open.tokens, tokens);
    });
  }

  test("throws a final error", async () => {
    const wrong = new ConnectError("bad selector", Code.InvalidArgument);
    const batches = reconnecting(streams({ send: [], then: wrong }), "", forever, {});
    await assert.rejects(batches.next(), { name: "InvalidArgumentError", message: "bad selector" });
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
    const connection = new ConnectionTracker((state) => changes.push(state));
    const options: ReconnectOptions = {
      isFinal: () => false,
      sleep: () => {
        t.mock.timers.tick(1_000);
        return Promise.resolve();
      },
    };
    const state = { connection, retry: new RetryPolicy(options) };
    const batches = reconnecting(open, "", t.signal, options, state);
    assert.deepEqual(connection.state, { state: "connecting", since: at(1_000) });
    await batches.next();
    t.mock.timers.tick(5_000);
    await batches.next();
    assert.deepEqual(connection.state, { state: "connected", since: at(2_000) });
    t.mock.timers.tick(1_000);
    await batches.next();
    t.mock.timers.tick(1_000);
    await batches.return(undefined as never);
    assert.deepEqual(changes, [
      { state: "lost", since: at(1_000), error: lost },
      { state: "connected", since: at(2_000) },
      { state: "lost", since: at(7_000), error: lost },
      { state: "connected", since: at(10_000) },
      { state: "closed", since: at(11_000) },
    ]);
  });

  test("opens a new stream after silence, and waits longer for its first batch", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const opened: string[] = [];
    const silent: OpenWatch = async function* (signal, resumeToken) {
      if (opened.push(resumeToken) !== 2) yield synced;
      await until(signal);
    };
    const options: ReconnectOptions = { sleep: noDelay };
    const connection = new ConnectionTracker();
    const state = { connection, retry: new RetryPolicy(options) };
    const batches = reconnecting(silent, "", t.signal, options, state);
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
    assert.equal(connection.state.state, "lost");
    assert.equal(await openedAfter(59_999), 2);
    assert.equal(await openedAfter(1), 3);
    await next;
    assert.equal(connection.state.state, "connected");
    assert.deepEqual(opened, ["", "t1", "t1"]);
  });

  test("stays with a stale replica until the service moves the stream", async (t) => {
    t.mock.timers.enable({ apis: ["Date"], now: 1_000 });
    const stale = { ...bookmark, freshness: { stale: true, lastContactTime: undefined } };
    const open = streams(
      { send: Array<WatchBatch>(4).fill(stale), then: moved },
      { send: [synced] },
    );
    const batches = reconnecting(open, "", t.signal, { sleep: noDelay });
    for (let day = 0; day < 4; day++) {
      await batches.next();
      assert.deepEqual(open.tokens, [""]);
      t.mock.timers.tick(86_400_000);
    }
    await batches.next();
    assert.deepEqual(open.tokens, ["", "t2"]);
  });

  test("opens an open stream once more when its token has expired", async () => {
    const expired = KubeconnectError.from(new ConnectError("expired", Code.Unauthenticated));
    const open = streams({ send: [synced], then: expired }, { send: [], then: expired });
    const batches = reconnecting(open, "", forever, { sleep: noDelay });
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
        const options: ReconnectOptions & ReconnectLimits = {
          firstDelayMs: 60_000,
          maxDelayMs: 60_000,
          isFinal: () => false,
          onRetry: () => {
            resolve();
          },
        };
        const batches = reconnecting(open, "", stop.signal, options);
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
    const batches = reconnecting(streams({ send: [], then: lost }), "", stop.signal, {
      isFinal: () => false,
      sleep: never,
      onRetry: () => {
        queueMicrotask(() => {
          stop.abort(new Error("enough"));
        });
      },
    });
    await assert.rejects(batches.next(), { message: "enough" });
  });
});

suite("failWhenSilent", () => {
  test("fails a silent stream", async (t) => {
    t.mock.timers.enable({ apis: ["setTimeout"] });
    const silent: OpenWatch = async function* (signal) {
      yield synced;
      await new Promise((_, reject) => {
        signal.addEventListener("abort", () => {
          reject(signal.reason as Error);
        });
      });
    };
    const watch = failWhenSilent(silent)(new AbortController().signal, "");
    const batches = watch[Symbol.asyncIterator]();
    assert.equal((await batches.next()).value, synced);
    const next = batches.next();
    t.mock.timers.tick(12_000);
    await assert.rejects(next, { message: "no message received for 12 s" });
  });

  test("passes through a stream that is not silent", async () => {
    const open = streams({ send: [reset, synced] });
    const watch = failWhenSilent(open);
    const seen: WatchBatch[] = [];
    for await (const batch of watch(new AbortController().signal, "t0")) seen.push(batch);
    assert.deepEqual(seen, [reset, synced]);
    assert.deepEqual(open.tokens, ["t0"]);
  });
});

suite("the iterations of a watch", () => {
  /** Creates a client whose nth stream sends the nth messages, and records the requests. */
  function serving(...all: { events: { type: EventType }[]; resumeToken: string }[][]) {
    const requests: WatchRequest[] = [];
    const client = clientOf({
      async *watch(request, { signal }) {
        for (const message of all[requests.push(request) - 1] ?? []) {
          yield { resource: podResource, ...message };
        }
        await until(signal);
      },
    });
    return { client, requests };
  }

  const added = { type: EventType.ADDED, object: pod("a") };
  const snapshot = [{ type: EventType.RESET }, added, { type: EventType.SYNCED }];

  test("continue after the last delivered event", async () => {
    const { client, requests } = serving(
      [{ events: snapshot, resumeToken: "t1" }],
      [{ events: [added], resumeToken: "t2" }],
    );
    const watch = client.watch("pods", { minResourceVersion: "3" });
    const seen: string[] = [];
    for await (const { type } of watch) {
      seen.push(type);
      if (type === "ADDED") break;
    }
    assert.equal(watch.resumeToken, "");
    assert.equal(watch.connection.state, "closed");
    for await (const { events, resumeToken } of watch.batches()) {
      seen.push(...events.map(({ type }) => type));
      if (resumeToken === "t2") break;
    }
    assert.deepEqual(seen, ["RESET", "ADDED", "SYNCED", "ADDED"]);
    assert.deepEqual(
      requests.map(({ resumeToken, minResourceVersion }) => [resumeToken, minResourceVersion]),
      [
        ["", "3"],
        ["t1", ""],
      ],
    );
  });

  test("cannot run at the same time", async () => {
    const { client } = serving([{ events: snapshot, resumeToken: "t1" }]);
    const watch = client.watch("pods");
    const first = watch.batches();
    await first.next();
    await assert.rejects(watch.batches().next(), /being iterated/);
    await first.return();
  });

  test("are stale from a loss until the next report", async () => {
    const message = { resource: podResource, events: [added], resumeToken: "t1" };
    let opened = 0;
    const client = clientOf({
      // eslint-disable-next-line @typescript-eslint/require-await -- a stream that never waits
      async *watch() {
        yield opened++ === 0 ? { ...message, freshness: { stale: false } } : message;
      },
    });
    const seen: (boolean | undefined)[] = [];
    const watch = client.watch("pods", { sleep: noDelay });
    for await (const { freshness } of watch.batches()) {
      if (seen.push(freshness?.stale, watch.freshness?.stale) === 4) break;
    }
    assert.deepEqual(seen, [false, false, undefined, true]);
  });
});
