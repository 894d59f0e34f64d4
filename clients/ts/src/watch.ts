import { stream, type ReadOptions } from "./call.js";
import { freshnessFrom, type Freshness } from "./freshness.js";
import { Encoding } from "./gen/kubeconnect/v1/object_pb.js";
import {
  EventType,
  type Event,
  type WatchResponse,
} from "./gen/kubeconnect/v1/resource_service_pb.js";
import { objectFrom, type ResourceServiceClient } from "./message.js";
import type { KubeObject, KubeValue, ResourceKind } from "./object.js";
import type { HeldObjects } from "./patches.js";
import { objectFields, type FieldOptions } from "./read.js";
import { selectionFields, type Selection } from "./selection.js";

/**
 * Which objects to watch. What enters the selection arrives as ADDED, what leaves it as
 * DELETED. `related` is what it is when the stream begins.
 */
export interface WatchSelection extends Selection {
  /** One object by its name; a right to that name is then enough. */
  readonly name?: string | undefined;
}

/**
 * How to watch. A change of nothing under `fields`, or in the metadata with `metadataOnly`,
 * is not told.
 */
export interface WatchOptions extends ReadOptions, FieldOptions {
  /**
   * Continues behind what an earlier watch of the same selection has told, where
   * the service remembers that; else the stream begins with RESET. Empty: anew.
   */
  readonly resumeToken?: string | undefined;
  /**
   * Lets the service send of a changed object only what has changed. What comes out are
   * whole objects all the same, made of what is held here.
   */
  readonly patches?: HeldObjects | undefined;
}

/** One step in the history of a selection. */
export type WatchEvent<T = KubeValue> =
  | {
      /**
       * ADDED: new, or entered the selection, or part of the snapshot. MODIFIED:
       * changed. DELETED: deleted, or left the selection; with its last state,
       * except that a resumed stream may not know that any more: then reading the
       * object's value throws. Ignore the deletion of what you do not hold.
       */
      readonly type: "ADDED" | "MODIFIED" | "DELETED";
      readonly object: KubeObject<T>;
      /** The version of the event itself. */
      readonly resourceVersion: string;
    }
  | {
      /**
       * RESET: forget what you hold, a snapshot follows. SYNCED: the snapshot is
       * complete. BOOKMARK: nothing has happened, up to this version.
       */
      readonly type: "RESET" | "SYNCED" | "BOOKMARK";
      readonly resourceVersion: string;
    };

/** The events that came together in one message: apply them, then render once. */
export interface WatchBatch<T = KubeValue> {
  readonly events: readonly WatchEvent<T>[];
  /**
   * Where to continue behind this batch. Empty within a snapshot: then an earlier
   * token is of no use either.
   */
  readonly resumeToken: string;
  /** How current the stream is; undefined where this batch does not tell. */
  readonly freshness: Freshness | undefined;
}

/** An event with what was told of the stream up to it. */
export type ResumableEvent<T = KubeValue> = WatchEvent<T> & {
  /** Where to continue behind this event; empty where that is impossible. */
  readonly resumeToken: string;
  /** How current the stream is, as last told. */
  readonly freshness: Freshness | undefined;
};

/**
 * A watch that is opened by iterating it: event by event, or batch by batch. It
 * begins with RESET, the snapshot as ADDED, and SYNCED, unless it is resumed.
 * Leaving the loop ends the stream.
 */
export class Watch<T = KubeValue> implements AsyncIterable<ResumableEvent<T>> {
  readonly #service: ResourceServiceClient;
  readonly #kinds: Map<string, ResourceKind>;
  readonly #resource: string;
  readonly #selection: WatchSelection;
  readonly #options: WatchOptions;

  /** @param kinds what each resource was last said to be: a resumed stream does not say it. */
  constructor(
    service: ResourceServiceClient,
    kinds: Map<string, ResourceKind>,
    resource: string,
    selection: WatchSelection,
    options: WatchOptions,
  ) {
    this.#service = service;
    this.#kinds = kinds;
    this.#resource = resource;
    this.#selection = selection;
    this.#options = options;
  }

  /** The events, one by one. */
  async *[Symbol.asyncIterator](): AsyncGenerator<ResumableEvent<T>, void, undefined> {
    let { resumeToken = "" } = this.#options;
    let freshness: Freshness | undefined;
    for await (const batch of this.batches()) {
      freshness = batch.freshness ?? freshness;
      const last = batch.events.at(-1);
      for (const event of batch.events) {
        if (event.type === "RESET") resumeToken = "";
        if (event === last) resumeToken = batch.resumeToken;
        yield { ...event, resumeToken, freshness };
      }
    }
  }

  /** The events, as many at a time as the service sent together. */
  async *batches(): AsyncGenerator<WatchBatch<T>, void, undefined> {
    const { patches: held, resumeToken = "" } = this.#options;
    const patches = held?.begin(resumeToken) === true;
    for await (const response of this.#open(patches)) {
      if (response.kind) this.#kinds.set(this.#resource, response.kind);
      if (patches) response.events = held.whole(response);
      yield batchFrom<T>(response, this.#kinds.get(this.#resource) ?? unknownKind);
    }
  }

  #open(patches: boolean): AsyncIterable<WatchResponse> {
    const { name = "" } = this.#selection;
    const { minResourceVersion = "", resumeToken = "", signal } = this.#options;
    const request = {
      resource: this.#resource,
      ...selectionFields(this.#selection),
      name,
      minResourceVersion,
      resumeToken,
      encoding: Encoding.JSON,
      patches,
      ...objectFields(this.#options),
    };
    return stream({ signal }, (call) => this.#service.watch(request, call));
  }
}

/** Of a stream that continues one from before this client was made. */
const unknownKind: ResourceKind = {
  group: "",
  version: "",
  kind: "",
  resource: "",
  namespaced: false,
};

function batchFrom<T>(response: WatchResponse, kind: ResourceKind): WatchBatch<T> {
  const { events, resumeToken, freshness } = response;
  return {
    events: events.flatMap((event) => eventFrom<T>(event, kind) ?? []),
    resumeToken,
    freshness: freshnessFrom(freshness),
  };
}

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
