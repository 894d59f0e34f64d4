import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { LivePage, LivePageOptions } from "../src/index.js";
import {
  Encoding,
  EventType,
  Source,
  WatchRequestSchema,
  type WatchRequest,
  type WatchResponseSchema,
} from "../src/proto.js";
import {
  clientOf,
  FakeStreams,
  oneWatch,
  pod,
  podResource,
  until,
  type FakeStream,
} from "./fixture.js";
import {
  eventsBetween,
  ModelSelection,
  randomOf,
  type ModelEvent,
  type ModelObject,
} from "./pagemodel.js";

type Response = MessageInitShape<typeof WatchResponseSchema>;
type Stream = FakeStream<WatchRequest, Response>;

const lost = new ConnectError("lost", Code.Unavailable);
const noDelay = (): Promise<void> => Promise.resolve();

function service() {
  const streams = new FakeStreams<WatchRequest, Response>();
  return { streams, client: clientOf({ watchMany: oneWatch(streams.open) }) };
}

/** Returns the event of an object that is in the page from now on. */
function added(name: string, index: number, version = "1"): ModelEvent {
  return { type: EventType.ADDED, object: pod(name, version), index };
}

function deleted(index: number): ModelEvent {
  return { type: EventType.DELETED, index };
}

const reset: ModelEvent = { type: EventType.RESET };
const synced: ModelEvent = { type: EventType.SYNCED };
const bookmark: ModelEvent = { type: EventType.BOOKMARK };

/** Returns the message that completes a page. */
function complete(
  resumeToken: string,
  total: number,
  offset: number,
  ...events: ModelEvent[]
): Response {
  const page = { totalCount: BigInt(total), offset: BigInt(offset), resourceVersion: resumeToken };
  return { resource: podResource, source: Source.CACHE, events, resumeToken, page };
}

function names({ items }: Pick<LivePage, "items">): string[] {
  return items.map(({ name }) => name);
}

/** Opens a page with some objects. Close it with `leave`. */
async function opened({ total = 9, ...options }: LivePageOptions & { total?: number } = {}) {
  const { streams, client } = service();
  const page = client.livePage("pods", { sleep: noDelay, ...options });
  const leave = page.subscribe(() => undefined);
  const stream = await streams.next();
  stream.send(complete("1", total, 0, reset, added("a", 0), added("b", 1), synced));
  await until(page, ({ snapshot }) => snapshot !== undefined);
  return { page, leave, stream, streams };
}

suite("livePage", () => {
  test("sends all options", async () => {
    const { streams, client } = service();
    const selection = { namespace: "a", labelSelector: "b=c", fieldSelector: "d=e", filter: "f" };
    const some = { fields: ["g.h"], requireAllNamespaces: true, minResourceVersion: "8" };
    const after = { namespace: "a", name: "z" };
    const place = { orderBy: "i.j desc", limit: 20, after };
    const page = client.livePage("po", { ...selection, ...some, ...place });
    const leave = page.subscribe(() => undefined);
    const { request } = await streams.next();
    leave();
    const want = { ...selection, ...some, ...place, resource: "po", encoding: Encoding.JSON };
    assert.deepEqual(request, create(WatchRequestSchema, want));
    assert.throws(() => client.livePage("po", { offset: 1, after }), TypeError);
  });

  test("has the objects in order, the total and the offset", async () => {
    const { page, leave, stream } = await opened({ limit: 2 });
    assert.equal(stream.request.limit, 2);
    assert.deepEqual([names(page), page.total, page.offset], [["a", "b"], 9, 0]);
    assert.equal(page.items[0]?.value.metadata.name, "a");
    assert.equal(page.snapshot?.source, "cache");
    leave();
    await stream.closed;
    assert.deepEqual(names(page), ["a", "b"]);
  });

  test("is empty before the first page is complete, which may take several messages", async () => {
    const { streams, client } = service();
    const page = client.livePage("pods");
    const leave = page.subscribe(() => undefined);
    const stream = await streams.next();
    stream.send({ events: [bookmark], freshness: { stale: true } });
    await until(page, ({ freshness }) => freshness?.stale === true);
    stream.send({ resource: podResource, events: [reset, added("a", 0)], freshness: {} });
    await until(page, ({ freshness }) => freshness?.stale === false);
    assert.deepEqual([page.snapshot, page.items, page.total, page.offset], [undefined, [], 0, 0]);
    stream.send(complete("1", 2, 0, added("b", 1), synced));
    await until(page, ({ snapshot }) => snapshot !== undefined);
    assert.deepEqual(names(page), ["a", "b"]);
    leave();
  });

  test("has the same snapshot until something changes, and the same objects while they stay", async () => {
    const { page, leave, stream } = await opened();
    const first = page.snapshot;
    stream.send(complete("2", 9, 0), { events: [bookmark], resumeToken: "3" });
    stream.send(complete("4", 8, 0));
    const second = await until(page, ({ total }) => total === 8);
    assert.notEqual(second, first);
    assert.equal(second?.items, first?.items);
    assert.equal(first?.resourceVersion, "1");
    const moved = { type: EventType.MOVED, object: { ...pod("b"), content: { case: undefined } } };
    stream.send(complete("5", 8, 0, moved));
    const third = await until(page, ({ snapshot }) => snapshot !== second);
    assert.deepEqual(third?.items, second?.items.toReversed());
    assert.equal(third?.items[0], second?.items[1]);
    leave();
  });

  test("has the new related objects of objects that are otherwise the same", async () => {
    const joins = { owned: { type: "selectedBy", resource: "pods" } } as const;
    const { page, leave, stream, streams } = await opened({ joins });
    assert.deepEqual(
      stream.request.joins.map(({ name }) => name),
      ["owned"],
    );
    const joined = (count: number): ModelEvent["object"] => ({
      ...pod("a"),
      joined: [{ name: "owned", count: BigInt(count) }],
    });
    stream.send(complete("2", 9, 0, { type: EventType.MODIFIED, object: joined(1) }));
    await until(page, ({ items }) => items[0]?.joined.owned?.count === 1);
    stream.send(lost);
    const again = complete("3", 1, 0, reset, { type: EventType.ADDED, object: joined(2) }, synced);
    (await streams.next()).send(again);
    await until(page, ({ items }) => items[0]?.joined.owned?.count === 2);
    leave();
  });

  test("resumes a lost stream with the token of the page that it shows", async () => {
    const { page, leave, stream, streams } = await opened();
    const [a] = page.items;
    stream.send({ events: [bookmark], resumeToken: "2" });
    stream.send({ events: [deleted(0), added("c", 1)], resumeToken: "" }, lost);
    const again = await streams.next();
    assert.equal(again.request.resumeToken, "2");
    assert.deepEqual(names(page), ["a", "b"]);
    again.send(complete("3", 9, 0, added("c", 0)));
    await until(page, ({ items }) => items.length === 3);
    assert.deepEqual(names(page), ["c", "a", "b"]);
    assert.equal(page.items[1], a);
    leave();
  });

  test("keeps the objects that are in the snapshot of a stream that could not be resumed", async () => {
    const { page, leave, stream, streams } = await opened();
    const [a, b] = page.items;
    stream.send(lost);
    (await streams.next()).send(
      complete("9", 3, 0, reset, added("b", 0), added("a", 1, "2"), added("c", 2), synced),
    );
    await until(page, ({ items }) => items.length === 3);
    assert.equal(page.items[0], b);
    assert.notEqual(page.items[1], a);
    leave();
  });

  test("scrolls with its token, and closes the earlier stream when the other one has begun", async () => {
    const { page, leave, stream, streams } = await opened({ limit: 2 });
    const [, b] = page.items;
    let isClosed = false;
    void stream.closed.then(() => (isClosed = true));
    page.scrollTo(1);
    assert.equal(page.scrolling, true);
    const next = await streams.next();
    const { offset, limit, resumeToken } = next.request;
    assert.deepEqual([offset, limit, resumeToken, isClosed], [1n, 2, "1", false]);
    stream.send(complete("2", 9, 0, deleted(0), added("z", 0)));
    next.send(complete("3", 9, 1, deleted(0), added("c", 1)));
    await until(page, ({ scrolling }) => !scrolling);
    assert.deepEqual([names(page), page.offset], [["b", "c"], 1]);
    assert.equal(page.items[0], b);
    await stream.closed;
    leave();
    await next.closed;
  });

  test("scrolls after an object, with another limit", async () => {
    const { page, leave, streams } = await opened({ limit: 2, namespace: "default" });
    const last = page.items.at(-1);
    page.scrollTo({ ...(last && { after: last }), limit: 3 });
    const { request } = await streams.next();
    assert.deepEqual([request.after?.namespace, request.after?.name], ["default", "b"]);
    assert.deepEqual([request.offset, request.limit, request.namespace], [0n, 3, "default"]);
    leave();
  });

  test("opens one other stream for several scrolls, and then one for the last of them", async () => {
    const { page, leave, stream, streams } = await opened();
    page.scrollTo(1);
    const first = await streams.next();
    for (const offset of [2, 3, 4]) page.scrollTo(offset);
    first.send(complete("2", 9, 1, deleted(0)));
    const second = await streams.next();
    assert.deepEqual([second.request.offset, second.request.resumeToken], [4n, "2"]);
    await stream.closed;
    assert.equal(page.scrolling, true);
    assert.deepEqual(names(page), ["b"]);
    second.send(complete("3", 9, 4, deleted(0), added("e", 0)));
    await until(page, ({ scrolling }) => !scrolling);
    assert.deepEqual([names(page), page.offset, streams.waiting], [["e"], 4, 0]);
    leave();
  });

  test("scrolls when a lost stream is opened again", async () => {
    const { page, leave, stream, streams } = await opened();
    page.scrollTo(5);
    const next = await streams.next();
    next.send(lost);
    await stream.closed;
    const again = await streams.next();
    assert.deepEqual([again.request.offset, again.request.resumeToken], [5n, "1"]);
    again.send(complete("2", 5, 5, deleted(1), deleted(0)));
    await until(page, ({ scrolling }) => !scrolling);
    assert.deepEqual(names(page), []);
    leave();
  });

  test("keeps its objects while it is not followed, and resumes there", async () => {
    const { page, leave, stream, streams } = await opened();
    const { snapshot } = page;
    leave();
    await stream.closed;
    page.scrollTo(1);
    assert.equal(streams.waiting, 0);
    const again = page.subscribe(() => undefined);
    const next = await streams.next();
    assert.deepEqual([next.request.offset, next.request.resumeToken], [1n, "1"]);
    assert.equal(page.snapshot, snapshot);
    again();
    await next.closed;
  });

  test("ends with an error, until it is scrolled to another place", async () => {
    const { streams, client } = service();
    const page = client.livePage("pods", { after: { name: "nobody" } });
    const leave = page.subscribe(() => undefined);
    (await streams.next()).send(new ConnectError("no such object", Code.NotFound));
    await until(page, ({ error }) => error?.code === Code.NotFound);
    page.scrollTo(0);
    assert.equal(page.error, undefined);
    (await streams.next()).send(complete("1", 1, 0, reset, added("a", 0), synced));
    await until(page, ({ items }) => items.length === 1);
    leave();
  });

  test("fails if the service does not know pages", async () => {
    const { streams, client } = service();
    const page = client.livePage("pods", { reconnect: false });
    const first = page[Symbol.asyncIterator]().next();
    (await streams.next()).send({ resource: podResource, events: [reset, added("a", 0), synced] });
    await assert.rejects(first, { code: Code.Internal, message: /does not support live pages/ });
  });

  test("gives a slow loop the newest page", async () => {
    const { streams, client } = service();
    const pages = client.livePage("pods")[Symbol.asyncIterator]();
    const first = pages.next();
    const stream = await streams.next();
    stream.send(complete("1", 1, 0, reset, added("a", 0), synced));
    await first;
    const later = [2, 3, 4].map((total) => complete(`${total}`, total, 0));
    stream.send(...later, new ConnectError("no", Code.PermissionDenied));
    await stream.ended;
    assert.equal((await pages.next()).value.total, 4);
    await assert.rejects(pages.next(), { code: Code.PermissionDenied });
  });

  test("shows new warnings without another page", async () => {
    const { page, leave, stream } = await opened();
    stream.send({ events: [bookmark], resumeToken: "2", warnings: ["2 left out"] });
    const snapshot = await until(page, ({ snapshot }) => snapshot?.warnings.length === 1);
    assert.deepEqual(snapshot?.warnings, ["2 left out"]);
    leave();
  });

  for (let seed = 1; seed <= 6; seed++) {
    test(`equals the model over changes, scrolls and lost streams (seed ${seed})`, async () => {
      await followModel(randomOf(seed));
    });
  }
});

/** Follows a page of a model, and compares the page with the model after each step. */
async function followModel(random: (limit: number) => number): Promise<void> {
  const { streams, client } = service();
  const page = client.livePage("pods", { limit: 8, sleep: noDelay });
  const leave = page.subscribe(() => undefined);
  const selection = new ModelSelection(random);
  const model = new ModelService(selection, random, await streams.next());
  for (let step = 0; step < 150; step++) {
    for (let changes = random(4); changes > 0; changes--) selection.change();
    const action = random(5);
    if (action === 0) model.lose();
    if (action === 1) page.scrollTo({ offset: random(selection.total + 3), limit: 4 + random(8) });
    if (action < 2) model.serve(await streams.next());
    else model.send();
    await until(page, ({ snapshot }) => snapshot?.warnings[0] === model.mark);
    assert.deepEqual(
      page.items.map(({ uid, resourceVersion }) => [uid, resourceVersion]),
      model.page.map(({ uid, version }) => [uid, `${version}`]),
    );
    assert.deepEqual([page.total, page.offset], [selection.total, model.offset]);
    assert.equal(page.scrolling, false);
  }
  leave();
}

/** The service of a model: it sends pages in several messages, and cannot resume each token. */
class ModelService {
  readonly #selection: ModelSelection;
  readonly #random: (limit: number) => number;
  /** The pages that the tokens stand for. */
  readonly #pages = new Map<string, readonly ModelObject[]>();
  #stream: Stream;
  /** The page that was sent last. */
  page: readonly ModelObject[] = [];

  constructor(selection: ModelSelection, random: (limit: number) => number, stream: Stream) {
    this.#selection = selection;
    this.#random = random;
    this.#stream = stream;
    this.serve(stream);
  }

  get offset(): number {
    return Number(this.#stream.request.offset);
  }

  /** What the last page has, and no other. It is also its token. */
  get mark(): string {
    return `${this.#pages.size}`;
  }

  /** Begins a stream with the difference to the page of its token, or with RESET. */
  serve(stream: Stream): void {
    this.#stream = stream;
    const known = this.#pages.get(stream.request.resumeToken);
    const isResumed = known !== undefined && this.#random(4) > 0;
    if (!isResumed) stream.send({ events: [reset] });
    this.page = isResumed ? known : [];
    this.send();
  }

  /** Sends the difference to the last page. */
  send(): void {
    const { offset, limit } = this.#stream.request;
    const next = this.#selection.page(Number(offset), limit);
    const events = eventsBetween(this.page, next);
    while (events.length > 0 && this.#random(2) > 0) {
      this.#stream.send({ events: events.splice(0, 1 + this.#random(3)) });
    }
    this.page = next;
    this.#pages.set(`${this.#pages.size + 1}`, next);
    const { total } = this.#selection;
    this.#stream.send({
      ...complete(this.mark, total, this.offset, ...events),
      warnings: [this.mark],
    });
  }

  /** Loses the stream within a change. */
  lose(): void {
    this.#stream.send({ events: [added("lost", 0), deleted(0)] }, lost);
  }
}
