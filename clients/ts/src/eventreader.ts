import type { WatchBatch, WatchEvent } from "./event.js";
import { freshnessFrom, type Freshness } from "./freshness.js";
import { EventType, type Event, type WatchResponse } from "./gen/kubeconnect/v1/watch_pb.js";
import { objectFrom } from "./message.js";
import type { Resource } from "./object.js";
import { ObjectCache } from "./objectcache.js";
import { sourceFrom, type Source } from "./read.js";
import { newest } from "./version.js";

/** Converts the messages of one watch, over all its streams, to batches. */
export class EventReader<T> {
  /** The objects that patches are applied to; undefined if no patches are requested. */
  #objects: ObjectCache | undefined;
  #received = false;
  #resource = unknownResource;
  #freshness: Freshness | undefined;
  #source: Source | undefined;
  #namespaces: readonly string[] = [];
  /** The warnings that were sent with the resource, and the last ones sent since. */
  #warnings: { first: readonly string[]; later: readonly string[] } = { first: [], later: [] };
  /** The newest version since the last RESET. */
  #resourceVersion = "";

  /** @param patches Whether changed objects may be sent as patches. */
  constructor(patches: boolean) {
    this.#objects = patches ? new ObjectCache() : undefined;
  }

  /** Whether to request patches. */
  get patches(): boolean {
    return this.#objects !== undefined;
  }

  /** Whether a message was received. */
  get received(): boolean {
    return this.#received;
  }

  /** As last reported; stale from the loss of a stream until the next report. */
  get freshness(): Freshness | undefined {
    return this.#freshness;
  }

  /** As last reported. */
  get source(): Source | undefined {
    return this.#source;
  }

  /** As last sent; empty for all. */
  get namespaces(): readonly string[] {
    return this.#namespaces;
  }

  /** The warnings that were sent with the resource, and the last ones sent since. */
  get warnings(): readonly string[] {
    return [...this.#warnings.first, ...this.#warnings.later];
  }

  /** Marks the freshness as stale, because the stream was lost. */
  markLost(): void {
    if (this.#received) {
      this.#freshness = { stale: true, lastContactTime: this.#freshness?.lastContactTime };
    }
  }

  /** Returns the batch of a message. `resumeToken` resumes after it. */
  read(response: WatchResponse, resumeToken: string): WatchBatch<T> {
    const events = this.#complete(response.events);
    this.#received = true;
    this.#readState(response);
    return {
      events: events.flatMap((event) => this.#eventFrom(event) ?? []),
      resumeToken,
      freshness: freshnessFrom(response.freshness),
      source: this.#source,
      namespaces: this.#namespaces,
      warnings: response.warnings,
    };
  }

  /** Returns events with complete objects. Requests no more patches if one does not apply. */
  #complete(events: readonly Event[]): readonly Event[] {
    const objects = this.#objects;
    if (objects === undefined) return events;
    this.#objects = undefined; // unless all patches apply
    const complete = events.map((event) => objects.complete(event));
    this.#objects = objects;
    return complete;
  }

  #readState({ resource, source, freshness, namespaces, warnings }: WatchResponse): void {
    this.#freshness = freshnessFrom(freshness) ?? this.#freshness;
    if (resource || namespaces.length > 0) this.#namespaces = namespaces;
    if (resource) {
      this.#resource = resource;
      this.#source = sourceFrom(source);
      this.#warnings = { first: warnings, later: [] };
    } else if (warnings.length > 0) {
      this.#warnings = { ...this.#warnings, later: warnings };
    }
  }

  /**
   * Converts an event. The version of a BOOKMARK may be older than the version of an earlier
   * DELETED. The returned versions do not decrease, except after a RESET.
   */
  #eventFrom(event: Event): WatchEvent<T> | undefined {
    const converted = eventFrom<T>(event, this.#resource);
    if (!converted) return undefined;
    const { type, resourceVersion } = converted;
    const last = type === "RESET" ? "" : this.#resourceVersion;
    this.#resourceVersion = newest(last, resourceVersion);
    return type === "BOOKMARK" || type === "SYNCED"
      ? { type, resourceVersion: this.#resourceVersion }
      : converted;
  }
}

/** The resource of a watch that has not been sent its resource yet. */
const unknownResource: Resource = {
  group: "",
  version: "",
  kind: "",
  plural: "",
  namespaced: false,
};

/** Converts an event; undefined for a type that this version of the client does not know. */
function eventFrom<T>(event: Event, resource: Resource): WatchEvent<T> | undefined {
  const { object, resourceVersion } = event;
  switch (event.type) {
    case EventType.ADDED:
      return { type: "ADDED", object: objectFrom<T>({ resource, object }), resourceVersion };
    case EventType.MODIFIED:
      return { type: "MODIFIED", object: objectFrom<T>({ resource, object }), resourceVersion };
    case EventType.DELETED:
      return { type: "DELETED", object: objectFrom<T>({ resource, object }), resourceVersion };
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
