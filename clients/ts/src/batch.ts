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
import { newest } from "./version.js";
import type { ResumableEvent, WatchBatch, WatchEvent } from "./watch.js";

/** Converts the messages of one watch to batches. */
export class BatchReader<T> {
  readonly #objects: HeldObjects | undefined;
  #kind = unknownKind;
  #source: Source | undefined;
  #namespaces: readonly string[] = [];
  /** The newest version since the last RESET. */
  #resourceVersion = "";

  /** @param objects The objects that patches are applied to; undefined if none were requested. */
  constructor(objects: HeldObjects | undefined) {
    this.#objects = objects;
  }

  /** Returns the batch of a message. `resumeToken` resumes after it. */
  read(response: WatchResponse, resumeToken: string): WatchBatch<T> {
    if (response.kind) {
      this.#kind = response.kind;
      this.#source = sourceFrom(response.source);
    }
    if (response.kind || response.namespaces.length > 0) {
      this.#namespaces = response.namespaces;
    }
    const events = this.#objects?.whole(response.events, resumeToken) ?? response.events;
    return {
      events: events.flatMap((event) => this.#eventFrom(event) ?? []),
      resumeToken,
      freshness: freshnessFrom(response.freshness),
      source: this.#source,
      namespaces: this.#namespaces,
      warnings: response.warnings,
    };
  }

  /**
   * Converts an event. The version of a BOOKMARK may be older than the version of an earlier
   * DELETED. The returned versions do not decrease, except after a RESET.
   */
  #eventFrom(event: Event): WatchEvent<T> | undefined {
    const converted = eventFrom<T>(event, this.#kind);
    if (!converted) return undefined;
    const { type, resourceVersion } = converted;
    const last = type === "RESET" ? "" : this.#resourceVersion;
    this.#resourceVersion = newest(last, resourceVersion);
    return type === "BOOKMARK" || type === "SYNCED"
      ? { type, resourceVersion: this.#resourceVersion }
      : converted;
  }
}

/**
 * Yields the events of a batch, each with the token that resumes after it. `resumeToken` is the
 * token before the batch.
 */
export function* resumable<T>(
  batch: WatchBatch<T>,
  resumeToken: string,
  freshness: Freshness | undefined,
): Generator<ResumableEvent<T>, void, undefined> {
  const { events, source, namespaces } = batch;
  const last = events.at(-1);
  let { warnings } = batch;
  for (const event of events) {
    if (event.type === "RESET") resumeToken = "";
    if (event === last) resumeToken = batch.resumeToken;
    yield { ...event, resumeToken, freshness, source, namespaces, warnings };
    warnings = [];
  }
}

/** The kind of a stream that has not sent it yet. */
const unknownKind: ResourceKind = {
  group: "",
  version: "",
  kind: "",
  resource: "",
  namespaced: false,
};

/** Converts an event; undefined for a type that this version of the client does not know. */
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
