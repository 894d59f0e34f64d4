import { freshnessFrom, type Freshness } from "./freshness.js";
import {
  EventType,
  type Event,
  type WatchResponse,
} from "./gen/kubeconnect/v1/resource_service_pb.js";
import { objectFrom } from "./message.js";
import type { ResourceKind } from "./object.js";
import type { HeldObjects } from "./patches.js";
import { sourceFrom, type Source } from "./read.js";
import type { ResumableEvent, WatchBatch, WatchEvent } from "./watch.js";

/** Reads what the stream of one watch is told. */
export class BatchReader<T> {
  readonly #held: HeldObjects | undefined;
  #kind = unknownKind;
  #source: Source | undefined;

  /** @param held what patches are to, where these may come. */
  constructor(held: HeldObjects | undefined) {
    this.#held = held;
  }

  /** The events of a message, behind which that token continues. */
  read(response: WatchResponse, resumeToken: string): WatchBatch<T> {
    if (response.kind) {
      this.#kind = response.kind;
      this.#source = sourceFrom(response.source);
    }
    const events = this.#held?.whole(response.events, resumeToken) ?? response.events;
    return {
      events: events.flatMap((event) => eventFrom<T>(event, this.#kind) ?? []),
      resumeToken,
      freshness: freshnessFrom(response.freshness),
      source: this.#source,
    };
  }
}

/** The events of a batch, each with where to continue behind it; that is what is given, at first. */
export function* resumable<T>(
  batch: WatchBatch<T>,
  resumeToken: string,
  freshness: Freshness | undefined,
): Generator<ResumableEvent<T>, void, undefined> {
  const last = batch.events.at(-1);
  for (const event of batch.events) {
    if (event.type === "RESET") resumeToken = "";
    if (event === last) resumeToken = batch.resumeToken;
    yield { ...event, resumeToken, freshness, source: batch.source };
  }
}

/** Of a stream that has not told it. */
const unknownKind: ResourceKind = {
  group: "",
  version: "",
  kind: "",
  resource: "",
  namespaced: false,
};

/** Undefined for a type that a newer service has and this client does not know. */
function eventFrom<T>(event: Event, kind: ResourceKind): WatchEvent<T> | undefined {
  const { object, resourceVersion } = event;
  switch (event.type) {
    case EventType.ADDED:
      return { type: "ADDED", object: objectFrom<T>({ kind, object }), resourceVersion };
    case EventType.MODIFIED:
      return { type: "MODIFIED", object: objectFrom<T>({ kind, object }), resourceVersion };
    case EventType.DELETED:
      return { type: "DELETED", object: objectFrom<T>({ kind, object }), resourceVersion };
    case EventType.RESET:
      return { type: "RESET", resourceVersion };
    case EventType.SYNCED:
      return { type: "SYNCED", resourceVersion };
    case EventType.BOOKMARK:
      return { type: "BOOKMARK", resourceVersion };
    default:
      return undefined;
  }
}
