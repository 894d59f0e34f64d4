import type { WatchBatch, WatchEvent } from "./event.js";
import { freshnessFrom } from "./freshness.js";
import { EventType, type Event, type WatchResponse } from "./gen/kubeconnect/v1/watch_pb.js";
import { objectFrom } from "./message.js";
import type { Resource } from "./object.js";
import { ObjectCache } from "./objectcache.js";
import { StreamInfo } from "./streaminfo.js";
import { newest } from "./version.js";

/** Converts the messages of one watch, over all its streams, to batches. */
export class EventReader<T> {
  /** What the service has last reported about the watch. */
  readonly info: StreamInfo;
  /** The objects that patches are applied to; undefined if no patches are requested. */
  #objects: ObjectCache | undefined;
  /** The newest version since the last RESET. */
  #resourceVersion = "";

  /** @param patches Whether changed objects may be sent as patches. */
  constructor(patches: boolean, info = new StreamInfo()) {
    this.info = info;
    this.#objects = patches ? new ObjectCache() : undefined;
  }

  /** Whether to request patches. */
  get patches(): boolean {
    return this.#objects !== undefined;
  }

  /** Returns the batch of a message. `resumeToken` resumes after it. */
  read(response: WatchResponse, resumeToken: string): WatchBatch<T> {
    const events = this.#complete(response.events);
    this.info.read(response);
    return {
      events: events.flatMap((event) => this.#eventFrom(event) ?? []),
      resumeToken,
      freshness: freshnessFrom(response.freshness),
      source: this.info.source,
      namespaces: this.info.namespaces,
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

  /**
   * Converts an event. The version of a BOOKMARK may be older than the version of an earlier
   * DELETED. The returned versions do not decrease, except after a RESET.
   */
  #eventFrom(event: Event): WatchEvent<T> | undefined {
    const converted = eventFrom<T>(event, this.info.resource);
    if (!converted) return undefined;
    const { type, resourceVersion } = converted;
    const last = type === "RESET" ? "" : this.#resourceVersion;
    this.#resourceVersion = newest(last, resourceVersion);
    return type === "BOOKMARK" || type === "SYNCED"
      ? { type, resourceVersion: this.#resourceVersion }
      : converted;
  }
}

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
