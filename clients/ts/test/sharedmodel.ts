import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import {
  EventType,
  type EventSchema,
  type WatchManyRequest,
  type WatchManyResponseSchema,
  type WatchSpec,
} from "../src/proto.js";
import { podResource, type FakeStream } from "./fixture.js";
import { eventsBetween, ModelSelection, type ModelObject } from "./pagemodel.js";

type Event = MessageInitShape<typeof EventSchema>;
export type ManyResponse = MessageInitShape<typeof WatchManyResponseSchema>;
export type ManyStream = FakeStream<WatchManyRequest, ManyResponse>;
type Objects = ReadonlyMap<string, StoredObject>;
type Random = (limit: number) => number;

/** An object of the model. A recreated object has another UID. */
export interface StoredObject {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly version: number;
  readonly node: string;
}

/** Returns an object in the format of the service. */
export function messageOf({ namespace, name, uid, version, node }: StoredObject) {
  const metadata = { namespace, name, uid, resourceVersion: `${version}` };
  const value = { apiVersion: "v1", kind: "Pod", metadata, spec: { node } };
  return {
    namespace,
    name,
    uid,
    resourceVersion: `${version}`,
    content: { case: "json" as const, value: new TextEncoder().encode(JSON.stringify(value)) },
  };
}

/** The objects of a resource, which change at random. */
export class ModelResource {
  readonly #random: Random;
  #version = 0;
  objects: Objects = new Map();

  constructor(random: Random) {
    this.#random = random;
  }

  change(): void {
    const random = this.#random;
    const [namespace, name] = [`n${random(3)}`, `p${random(12)}`];
    const key = `${namespace}/${name}`;
    const known = this.objects.get(key);
    const version = ++this.#version;
    const next = new Map(this.objects);
    if (known && random(3) === 0) next.delete(key);
    else {
      const uid = known && random(5) > 0 ? known.uid : `${key}-${version}`;
      next.set(key, { namespace, name, uid, version, node: `node${random(4)}` });
    }
    this.objects = next;
  }
}

/**
 * A service with resources "r0", "r1", …, which are watched, and "sorted", whose pages are watched.
 * It sends changes in several messages, and cannot resume each token.
 */
export class ModelManyService {
  readonly resources: readonly ModelResource[];
  readonly sorted: ModelSelection;
  readonly #random: Random;
  /** The states that the tokens stand for. */
  readonly #states = new Map<string, Objects | readonly ModelObject[]>();
  #marks = 0;
  #stream: ManyStream;
  #sent: (Objects | readonly ModelObject[])[] = [];

  constructor(random: Random, resources: number, stream: ManyStream) {
    this.#random = random;
    this.resources = Array.from({ length: resources }, () => new ModelResource(random));
    this.sorted = new ModelSelection(random);
    this.#stream = stream;
  }

  get stream(): ManyStream {
    return this.#stream;
  }

  /** What the last messages have, and no others. */
  get mark(): string {
    return `${this.#marks}`;
  }

  change(): void {
    if (this.#random(3) === 0) this.sorted.change();
    this.resources[this.#random(this.resources.length)]?.change();
  }

  /** The index of a resource in the stream; -1 if it is not in the stream. */
  indexOf(resource: string): number {
    return this.#stream.request.watches.findIndex((spec) => spec.resource === resource);
  }

  /** Sends nonsense on the present stream, which must be ignored, and begins another one. */
  replace(stream: ManyStream): void {
    this.#stream.request.watches.forEach((_, index) => {
      this.#sendLost(index, "lost");
    });
    this.serve(stream);
  }

  /** Ends the present stream within a change of one of its watches. */
  lose(): void {
    this.#sendLost(this.#random(this.#stream.request.watches.length), "");
    this.#stream.send(new ConnectError("lost", Code.Unavailable));
  }

  #sendLost(watchIndex: number, resumeToken: string): void {
    const object = { namespace: "n0", name: "lost", uid: "lost", version: 1, node: "" };
    const events = [{ type: EventType.ADDED, object: messageOf(object) }];
    this.#stream.send({ watchIndex, response: { resource: podResource, events, resumeToken } });
  }

  /** Begins a stream: each part with the difference to the state of its token, or with RESET. */
  serve(stream: ManyStream): void {
    this.#stream = stream;
    this.#sent = stream.request.watches.map((spec, watchIndex) => this.#begin(spec, watchIndex));
    this.send();
  }

  /** Sends each part the difference between its last state and the present one. */
  send(): void {
    this.#marks++;
    const { watches, counts } = this.#stream.request;
    this.#sent = this.#sent.map((sent, index) => this.#sendPart(watches[index], index, sent));
    counts.forEach((_, index) => {
      const response = { reset: true, resource: podResource, totalCount: BigInt(this.#marks) };
      this.#stream.send({ watchIndex: watches.length + index, counts: response });
    });
  }

  #begin(spec: WatchSpec, watchIndex: number): Objects | readonly ModelObject[] {
    const known = this.#states.get(spec.ownResumeToken);
    if (known && this.#random(4) > 0) return known;
    this.#stream.send({ watchIndex, response: { events: [{ type: EventType.RESET }] } });
    return spec.limit > 0 ? [] : new Map();
  }

  #sendPart(
    spec: WatchSpec | undefined,
    watchIndex: number,
    sent: Objects | readonly ModelObject[],
  ) {
    const { resource = "", limit = 0, offset = 0n } = spec ?? {};
    const isPage = !(sent instanceof Map);
    const page = this.sorted.page(Number(offset), limit);
    const objects = this.resources[Number(resource.slice(1))]?.objects ?? new Map<string, never>();
    const events = isPage
      ? eventsBetween(sent as readonly ModelObject[], page)
      : [...differences(sent as Objects, objects), { type: EventType.SYNCED }];
    while (events.length > 1 && this.#random(2) > 0) {
      this.#stream.send({
        watchIndex,
        response: { events: events.splice(0, 1 + this.#random(3)) },
      });
    }
    const resumeToken = `${resource}-${this.mark}`;
    const state = {
      totalCount: BigInt(this.sorted.total),
      offset,
      resourceVersion: `${this.sorted.version}`,
    };
    const response = { resource: podResource, events, resumeToken, warnings: [this.mark] };
    this.#stream.send({ watchIndex, response: isPage ? { ...response, page: state } : response });
    const next = isPage ? page : objects;
    this.#states.set(resumeToken, next);
    return next;
  }
}

/** Returns the events that lead from a state to another one. */
function differences(before: Objects, after: Objects): Event[] {
  const deleted = [...before]
    .filter(([key, { uid }]) => after.get(key)?.uid !== uid)
    .map(([, object]) => ({ type: EventType.DELETED, object: messageOf(object) }));
  const changed = [...after]
    .filter(([key, { version }]) => before.get(key)?.version !== version)
    .map(([key, object]) => ({
      type: before.get(key)?.uid === object.uid ? EventType.MODIFIED : EventType.ADDED,
      object: messageOf(object),
    }));
  return [...deleted, ...changed];
}
