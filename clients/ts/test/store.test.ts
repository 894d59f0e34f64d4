import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Changes, Client, KubeObject, LivePage, Store, StoreOptions } from "../src/index.js";
import { EventType, PatchFormat, type WatchManyRequest } from "../src/proto.js";
import { clientOf, FakeStreams, pod, podResource, until } from "./fixture.js";
import { randomOf } from "./pagemodel.js";
import {
  ModelManyService,
  type ManyResponse,
  type ManyStream,
  type StoredObject,
} from "./sharedmodel.js";

interface Value {
  readonly spec: { readonly node: string };
}

/** The streams of a service, and the number of those that are open. */
class CountedStreams extends FakeStreams<WatchManyRequest, ManyResponse> {
  openCount = 0;

  override async next(): Promise<ManyStream> {
    const stream = await super.next();
    this.openCount++;
    void stream.closed.then(() => this.openCount--);
    return stream;
  }
}

function service(): { streams: CountedStreams; client: Client } {
  const streams = new CountedStreams();
  return { streams, client: clientOf({ watchMany: streams.open }) };
}

function added(name: string, version = "1", uid?: string) {
  return { type: EventType.ADDED, object: pod(name, version, uid) };
}

const reset = { type: EventType.RESET };
const synced = { type: EventType.SYNCED, resourceVersion: "9" };

/** Returns a message of a watch. */
function message(
  watchIndex: number,
  resumeToken: string,
  ...events: NonNullable<ManyResponse["response"]>["events"] & object
): ManyResponse {
  return { watchIndex, response: { resource: podResource, events, resumeToken } };
}

/** Opens a store with some objects. Close it with `leave`. */
async function opened(options: StoreOptions = {}) {
  const { streams, client } = service();
  const store = client.store("pods", options);
  const changes: Changes<KubeObject>[] = [];
  const leave = store.changes((each) => changes.push(each));
  const stream = await streams.next();
  stream.send(message(0, "1", reset, added("b"), added("a"), synced));
  await store.ready;
  return { client, store, leave, stream, streams, changes };
}

const names = (objects: readonly KubeObject<unknown>[]): string[] =>
  objects.map(({ name }) => name);

/** Returns the names of differences. */
function summary({ added, modified, deleted }: Changes<KubeObject>) {
  return [names(added), names(modified), names(deleted)];
}

suite("store", () => {
  test("has the objects by name, by namespace and by index", async () => {
    const indexes = {
      app: ({ metadata }: { metadata: { labels?: Record<string, string> } }) =>
        Object.values(metadata.labels ?? {}),
    };
    const { store, leave, stream } = await opened({ indexes });
    assert.equal(store.get({ namespace: "default", name: "a" })?.uid, "uid-a");
    assert.equal(store.get({ name: "a" }), undefined);
    assert.deepEqual(names(store.list()), ["a", "b"]);
    assert.deepEqual(names(store.list("default")), ["a", "b"]);
    assert.deepEqual(store.list("other"), []);
    assert.deepEqual(names(store.byIndex("app", "b")), ["b"]);
    assert.throws(() => store.byIndex("node", "b"), TypeError);
    assert.equal(store.synced, true);
    leave();
    await stream.closed;
    assert.deepEqual(names(store.list()), ["a", "b"]);
  });

  test("has the same snapshot and lists until something changes", async () => {
    const { store, leave, stream } = await opened();
    const { snapshot } = store;
    const list = store.list();
    stream.send(message(0, "2", { type: EventType.BOOKMARK, resourceVersion: "10" }));
    stream.send(message(0, "3", added("c")));
    const next = await until(store, ({ snapshot: now }) => now !== snapshot);
    assert.equal(next?.objects.size, 3);
    assert.equal(snapshot?.objects.size, 2, "an earlier snapshot has changed");
    assert.equal(store.list()[0], list[0]);
    assert.deepEqual(names(list), ["a", "b"]);
    assert.equal(store.list(), store.list());
    leave();
  });

  test("begins with a snapshot if a replica cannot read its token", async () => {
    const { streams, client } = service();
    const reasons: string[] = [];
    const onRetry = ({ message }: Error): void => void reasons.push(message);
    const store = client.store("pods", { sleep: () => Promise.resolve(), onRetry });
    const leave = store.changes(() => undefined);
    const first = await streams.next();
    first.send(message(0, "1", reset, added("a"), synced));
    await store.ready;
    first.send(new ConnectError("restarting", Code.Unavailable));
    const second = await streams.next();
    second.send({ watchIndex: 0, error: { reason: "BadRequest", message: "unknown token" } });
    second.end();
    const third = await streams.next();
    third.send(message(0, "2", reset, added("b"), synced));
    await until(store, () => store.get({ namespace: "default", name: "b" }) !== undefined);
    const tokens = [first, second, third].map(({ request }) => request.watches[0]?.ownResumeToken);
    assert.deepEqual(tokens, ["", "1", ""]);
    assert.deepEqual(reasons, ["restarting", "unknown token"]);
    assert.deepEqual(names(store.list()), ["b"]);
    leave();
  });

  test("has exact differences after a new snapshot, and shows no state in between", async () => {
    const { store, leave, stream, changes } = await opened();
    const [, b] = store.list();
    const { snapshot } = store;
    stream.send(message(0, "", reset, added("b"), added("c")));
    stream.send(message(0, "2", added("a", "5", "another"), synced));
    await until(store, ({ snapshot: now }) => now !== snapshot);
    assert.equal(store.list()[1], b);
    assert.deepEqual(changes.map(summary), [
      [["b", "a"], [], []],
      [["a", "c"], [], ["a"]],
    ]);
    leave();
  });

  test("reports a change of an object whose version has not changed", async () => {
    const { store, leave, stream, changes } = await opened();
    stream.send(message(0, "2", { type: EventType.MODIFIED, object: pod("a") }));
    await until(store, () => changes.length === 2);
    assert.deepEqual(summary(changes[1] ?? { added: [], modified: [], deleted: [] })[1], ["a"]);
    leave();
  });

  test("is ready when the snapshot is complete, and rejects if it is rejected", async () => {
    const { streams, client } = service();
    const store = client.store("pods");
    const { ready } = store;
    const stream = await streams.next();
    stream.send(message(0, "", reset, added("a")));
    stream.send(message(0, "1", synced));
    await ready;
    assert.equal(store.snapshot?.objects.size, 1);
    await stream.closed;
    await store.ready;
    const secrets = client.store("secrets");
    const rejected = secrets.ready;
    (await streams.next()).send({ error: { reason: "Forbidden", message: "no" } });
    await assert.rejects(rejected, { code: Code.PermissionDenied, message: "no" });
    assert.equal(secrets.error?.fromService, true);
  });

  test("is live from open to close, and while it is followed otherwise", async () => {
    const { streams, client } = service();
    const store = client.store("pods");
    const opening = store.open();
    const stream = await streams.next();
    stream.send(message(0, "1", reset, synced));
    assert.equal(await opening, store);
    const leave = store.subscribe(() => undefined);
    store.close();
    stream.send(message(0, "2", added("a")));
    await until(store, ({ snapshot }) => snapshot?.objects.size === 1);
    leave();
    await stream.closed;
  });

  test("is closed by using, where the runtime has it", async () => {
    const { streams, client } = service();
    let stream: ManyStream;
    {
      const store = client.store("pods");
      const opening = store.open();
      stream = await streams.next();
      stream.send(message(0, "1", reset, synced));
      // eslint-disable-next-line @typescript-eslint/await-thenable -- it does not see mapped types
      await using opened = await opening;
      assert.equal(opened.synced, true);
    }
    await stream.closed;
  });

  test("requests patches if the caller wants them, and applies them", async () => {
    const { store, leave, stream } = await opened({ patches: true, fields: ["metadata"] });
    const [spec] = stream.request.watches;
    assert.deepEqual([spec?.patchFormat, spec?.fields], [PatchFormat.JSON, ["metadata"]]);
    const patch = [{ op: "replace", path: "/metadata/labels/app", value: "new" }];
    const value = new TextEncoder().encode(JSON.stringify(patch));
    const object = { ...pod("a", "2"), content: { case: "json" as const, value } };
    const event = { type: EventType.MODIFIED, object, patchFormat: PatchFormat.JSON };
    stream.send(message(0, "2", event));
    await until(store, () => store.list()[0]?.resourceVersion === "2");
    assert.equal(store.list()[0]?.value.metadata.labels?.app, "new");
    leave();
  });

  test("fails if the service does not support independent watches", async () => {
    const { streams, client } = service();
    const { ready } = client.store("pods");
    const response = message(0, "", reset, synced);
    (await streams.next()).send({ ...response, resumeToken: "all" });
    await assert.rejects(ready, { code: Code.Internal, message: /update it/ });
  });
});

suite("live stores", () => {
  test("that are followed in one turn begin with one stream", async () => {
    const { streams, client } = service();
    const stores = [client.store("a"), client.livePage("b"), client.watchCounts("c")];
    const leave = stores.map((store) => store.subscribe(() => undefined));
    const { request, closed } = await streams.next();
    assert.equal(request.independent, true);
    assert.deepEqual(
      [...request.watches, ...request.counts].map(({ resource }) => resource),
      ["a", "b", "c"],
    );
    for (const each of leave) each();
    await closed;
    assert.equal(streams.waiting, 0);
  });

  test("resume each with its own token when another one joins or leaves", async () => {
    const { client, store, leave, stream, streams } = await opened();
    const nodes = client.store("nodes");
    const leaveNodes = nodes.subscribe(() => undefined);
    const second = await streams.next();
    assert.deepEqual(
      second.request.watches.map(({ resource, ownResumeToken }) => [resource, ownResumeToken]),
      [
        ["pods", "1"],
        ["nodes", ""],
      ],
    );
    assert.equal(streams.openCount, 2);
    stream.send(message(0, "lost", added("lost")));
    second.send(message(1, "n1", reset, synced), message(0, "2", added("c")));
    await stream.closed;
    await until(store, ({ snapshot }) => snapshot?.objects.size === 3);
    assert.deepEqual(names(store.list()), ["a", "b", "c"]);
    leaveNodes();
    const third = await streams.next();
    assert.deepEqual(
      third.request.watches.map(({ ownResumeToken }) => ownResumeToken),
      ["2"],
    );
    third.send(message(0, "3"));
    await second.closed;
    leave();
    await third.closed;
    assert.equal(streams.openCount, 0);
  });

  test("wait with another stream until a snapshot is complete", async () => {
    const { client, leave, stream, streams } = await opened();
    stream.send(message(0, "", reset, added("a")));
    const page = client.livePage("nodes");
    const leavePage = page.subscribe(() => undefined);
    await new Promise((resolve) => setTimeout(resolve));
    stream.send(message(0, "2", added("b"), synced));
    const { request } = await streams.next();
    assert.equal(request.watches[0]?.ownResumeToken, "2");
    leavePage();
    leave();
  });

  test("fail alone if they are rejected", async () => {
    const { client, store, leave, stream, streams } = await opened();
    const secrets = client.store("secrets");
    const leaveSecrets = secrets.subscribe(() => undefined);
    const second = await streams.next();
    second.send({ watchIndex: 1, error: { reason: "Forbidden", message: "no secrets" } });
    await until(secrets, ({ error }) => error?.code === Code.PermissionDenied);
    await stream.closed;
    second.send(message(0, "2", added("c")));
    await until(store, ({ snapshot }) => snapshot?.objects.size === 3);
    assert.equal(store.error, undefined);
    assert.equal(streams.waiting, 0);
    leaveSecrets();
    leave();
    await second.closed;
  });

  test("are requested again after an error that can be retried, with the others unharmed", async () => {
    const { client, store, leave, streams } = await opened();
    const states: string[] = [];
    const onRetry = (error: Error): unknown => states.push(error.message);
    const nodes = client.store("nodes", { onRetry });
    const leaveNodes = nodes.subscribe(() => undefined);
    const second = await streams.next();
    second.send(message(1, "n1", reset, synced));
    await until(nodes, ({ snapshot }) => snapshot !== undefined);
    second.send({ watchIndex: 1, error: { reason: "ServiceUnavailable", message: "busy" } });
    await until(nodes, ({ connection }) => connection.state === "lost");
    second.send(message(0, "2", added("c")));
    await until(store, ({ snapshot }) => snapshot?.objects.size === 3);
    assert.equal(store.connection.state, "connected");
    const third = await streams.next();
    assert.deepEqual(
      third.request.watches.map(({ ownResumeToken }) => ownResumeToken),
      ["2", "n1"],
    );
    third.send(message(1, "n2"));
    await until(nodes, ({ connection }) => connection.state === "connected");
    assert.deepEqual(states, ["busy"]);
    leaveNodes();
    leave();
  });

  test("fail alone if their options are invalid, or a message does not apply", async () => {
    const { client, store, leave, streams } = await opened();
    const page = client.livePage("nodes", { limit: 1.5 });
    const leavePage = page.subscribe(() => undefined);
    await until(page, ({ error }) => error !== undefined);
    const second = await streams.next();
    assert.equal(second.request.watches.length, 1);
    page.scrollTo({ limit: 2, offset: 0 });
    second.send(message(0, "2"));
    const third = await streams.next();
    third.send(message(1, "", { type: EventType.DELETED, index: 7 }));
    await until(page, ({ error }) => error?.code === Code.DataLoss);
    const pageState = { totalCount: 1n, offset: 0n, resourceVersion: "1" };
    const later = { events: [reset, added("z")], resumeToken: "p", page: pageState };
    third.send({ watchIndex: 1, response: { resource: podResource, ...later } });
    third.send(message(0, "3", added("c")));
    const fourth = await streams.next();
    assert.equal(fourth.request.watches.length, 1);
    fourth.send(message(0, "4", added("d")));
    await until(store, () => store.get({ namespace: "default", name: "d" }) !== undefined);
    assert.deepEqual([page.snapshot, page.connection.state], [undefined, "lost"]);
    leavePage();
    leave();
    await fourth.closed;
  });

  test("with own headers or reconnect options have a stream of their own", async () => {
    const { streams, client } = service();
    const stores = [
      client.store("a", { headers: { a: "b" } }),
      client.store("b", { reconnect: false }),
      client.store("c"),
    ];
    const leave = stores.map((store) => store.subscribe(() => undefined));
    const opened = [await streams.next(), await streams.next(), await streams.next()];
    assert.deepEqual(
      opened.map(({ request }) => request.watches.map(({ resource }) => resource)).sort(),
      [["a"], ["b"], ["c"]],
    );
    for (const each of leave) each();
    await Promise.all(opened.map(({ closed }) => closed));
  });

  test("are spread over several streams, within the limits of the service", async () => {
    const { streams, client } = service();
    const pages = [1, 2, 3].map((each) => client.livePage(`p${each}`, { limit: 400 }));
    const stores = Array.from({ length: 100 }, (_, index) => client.store(`s${index}`));
    const leave = [...pages, ...stores].map((store) => store.subscribe(() => undefined));
    const first = await streams.next();
    const second = await streams.next();
    assert.deepEqual(
      [first, second].map(({ request }) => request.watches.length),
      [100, 3],
    );
    assert.equal(second.request.watches[0]?.resource, "p3");
    first.send(message(0, "1", reset, synced));
    pages[0]?.scrollTo({ limit: 500 });
    pages[1]?.scrollTo({ limit: 500 });
    assert.deepEqual((await streams.next()).request.watches[0]?.limit, 500);
    pages[2]?.scrollTo({ limit: 500 });
    for (const each of leave) each();
    await first.closed;
    await second.closed;
  });

  test("end with the signal of their options", async () => {
    const { client, leave, streams } = await opened();
    const stopping = new AbortController();
    const nodes = client.store("nodes", { signal: stopping.signal });
    const { ready } = nodes;
    const second = await streams.next();
    second.send(message(0, "2"));
    const reason = new Error("enough");
    stopping.abort(reason);
    await assert.rejects(ready, reason);
    await assert.rejects(nodes.ready, reason);
    assert.equal((await streams.next()).request.watches.length, 1);
    leave();
  });

  for (let seed = 1; seed <= 4; seed++) {
    test(`equal the model over changes, losses, joining, leaving and rejections (seed ${seed})`, async () => {
      await followModel(randomOf(seed));
    });
  }
});

/** A store, with a copy that is made of its differences. */
class Followed {
  readonly store: Store<Value>;
  readonly copy = new Map<string, KubeObject<Value>>();
  readonly resource: string;
  #earlier = new Map<string, KubeObject<Value>>();
  #leave: (() => void) | undefined;

  constructor(client: Client, resource: string) {
    this.resource = resource;
    const indexes = { node: ({ spec }: Value) => [spec.node, "all"] };
    this.store = client.store<Value>(resource, { indexes });
  }

  get isFollowed(): boolean {
    return this.#leave !== undefined;
  }

  follow(): void {
    this.#leave?.();
    this.#leave = this.store.changes(({ added, modified, deleted }) => {
      for (const { key } of deleted)
        assert.ok(this.copy.delete(key), `${key} is not deleted twice`);
      for (const object of added) assert.ok(!this.copy.has(object.key), `${object.key} is new`);
      for (const object of modified) assert.ok(this.copy.has(object.key), `${object.key} exists`);
      for (const object of [...added, ...modified]) this.copy.set(object.key, object);
    });
  }

  leave(): void {
    this.#leave?.();
    this.#leave = undefined;
  }

  /** Compares the store with the model. */
  async check(mark: string, objects: ReadonlyMap<string, StoredObject>): Promise<void> {
    const snapshot = await until(this.store, ({ snapshot }) => snapshot?.warnings[0] === mark);
    const heads = (each: Iterable<KubeObject<Value>>): string[] =>
      [...each].map(({ key, uid, resourceVersion }) => [key, uid, resourceVersion].join());
    const sorted = [...objects.values()].sort((a, b) =>
      a.namespace === b.namespace ? order(a.name, b.name) : order(a.namespace, b.namespace),
    );
    const want = (select: (object: StoredObject) => boolean): string[] =>
      sorted
        .filter(select)
        .map(({ namespace, name, uid, version }) => [`${namespace}/${name}`, uid, version].join());
    assert.deepEqual(
      heads(this.store.list()),
      want(() => true),
    );
    assert.deepEqual(
      heads(this.store.list("n1")),
      want(({ namespace }) => namespace === "n1"),
    );
    assert.deepEqual(
      heads(this.store.byIndex("node", "node2")),
      want(({ node }) => node === "node2"),
    );
    assert.deepEqual(this.store.byIndex("node", "all"), this.store.list());
    assert.deepEqual(
      new Map([...this.copy].sort()),
      new Map([...(snapshot?.objects ?? [])].sort()),
    );
    for (const [key, object] of this.#earlier) {
      const now = snapshot?.objects.get(key);
      const isSame = now?.uid === object.uid && now.resourceVersion === object.resourceVersion;
      if (isSame) assert.equal(now, object, `${key} has not changed`);
    }
    this.#earlier = new Map(snapshot?.objects);
  }
}

const order = (a: string, b: string): number => (a < b ? -1 : 1);

/** Follows stores, a page and counts of a model, and compares them with it after each step. */
async function followModel(random: (limit: number) => number): Promise<void> {
  const { streams, client } = service();
  const stores = [0, 1, 2, 3].map((index) => new Followed(client, `r${index}`));
  const page = client.livePage("sorted", { limit: 5 });
  const counts = client.watchCounts("sorted");
  const leaveAll = [page.subscribe(() => undefined), counts.subscribe(() => undefined)];
  stores[0]?.follow();
  const model = new ModelManyService(random, stores.length, await streams.next());
  model.serve(model.stream);
  for (let step = 0; step < 80; step++) {
    for (let changes = random(5); changes > 0; changes--) model.change();
    await act(random(8), model, streams, stores, page, random);
    for (const each of stores.filter(({ isFollowed }) => isFollowed)) {
      await each.check(
        model.mark,
        model.resources[Number(each.resource.slice(1))]?.objects ?? new Map(),
      );
    }
    await until(page, ({ snapshot }) => snapshot?.warnings[0] === model.mark);
    assert.deepEqual(
      page.items.map(({ uid }) => uid),
      model.sorted.page(page.offset, 5).map(({ uid }) => uid),
    );
    await until(counts, ({ snapshot }) => `${snapshot?.total}` === model.mark);
    assert.ok(streams.openCount <= 2, `${streams.openCount} streams are open`);
  }
  for (const each of stores) each.leave();
  for (const leave of leaveAll) leave();
  await model.stream.closed;
  assert.equal(streams.openCount, 0);
  assert.equal(streams.waiting, 0);
}

/** Does something with the stream, and lets the model send its present state. */
async function act(
  action: number,
  model: ModelManyService,
  streams: CountedStreams,
  stores: readonly Followed[],
  page: LivePage,
  random: (limit: number) => number,
): Promise<void> {
  const some = stores[random(stores.length)];
  const isFollowed = some?.isFollowed ?? false;
  if (action === 0) {
    model.lose();
    model.serve(await streams.next());
  } else if (action === 1 || action === 2) {
    if (isFollowed) some?.leave();
    else some?.follow();
    if (action === 2) page.scrollTo(random(9));
    model.replace(await streams.next());
  } else if (action === 3) {
    page.scrollTo(random(9));
    model.replace(await streams.next());
  } else if (action === 4 && some && isFollowed) {
    model.stream.send({ watchIndex: model.indexOf(some.resource), error: { reason: "Forbidden" } });
    await until(some.store, ({ error }) => error !== undefined);
    some.follow();
    model.replace(await streams.next());
  } else {
    model.send();
  }
}
