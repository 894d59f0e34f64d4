import { stream, type CallOptions } from "./call.js";
import { Encoding } from "./gen/kubeconnect/v1/object_pb.js";
import {
  EventType,
  type Event,
  type WatchResponse,
} from "./gen/kubeconnect/v1/resource_service_pb.js";
import { objectFrom, type ResourceServiceClient } from "./message.js";
import type { KubeObject, KubeValue, ResourceKind } from "./object.js";

/** Which objects to watch. What is left out selects everything. */
export interface WatchSelection {
  readonly namespace?: string | undefined;
  /** One object by its name; a right to that name is then enough. */
  readonly name?: string | undefined;
  /** As kubectl writes it: "app=web,tier in (a,b),!canary". */
  readonly labelSelector?: string | undefined;
  /** As kubectl writes it: "spec.nodeName=n1". */
  readonly fieldSelector?: string | undefined;
}

/** One step in the history of a selection. */
export type WatchEvent<T = KubeValue> =
  | {
      /**
       * ADDED: new, or entered the selection, or part of the snapshot. MODIFIED:
       * changed. DELETED: deleted, or left the selection; with its last state.
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
}

/**
 * A watch that is opened by iterating it: event by event, or batch by batch. It
 * begins with RESET, the snapshot as ADDED, and SYNCED. Leaving the loop ends
 * the stream.
 */
export class Watch<T = KubeValue> implements AsyncIterable<WatchEvent<T>> {
  readonly #service: ResourceServiceClient;
  readonly #resource: string;
  readonly #selection: WatchSelection;
  readonly #options: CallOptions;

  constructor(
    service: ResourceServiceClient,
    resource: string,
    selection: WatchSelection,
    options: CallOptions,
  ) {
    this.#service = service;
    this.#resource = resource;
    this.#selection = selection;
    this.#options = options;
  }

  /** The events, one by one. */
  async *[Symbol.asyncIterator](): AsyncGenerator<WatchEvent<T>, void, undefined> {
    for await (const batch of this.batches()) {
      yield* batch.events;
    }
  }

  /** The events, as many at a time as the service sent together. */
  async *batches(): AsyncGenerator<WatchBatch<T>, void, undefined> {
    let kind: ResourceKind | undefined;
    for await (const response of this.#open()) {
      kind = response.kind ?? kind;
      yield batchFrom<T>(response, kind);
    }
  }

  #open(): AsyncIterable<WatchResponse> {
    const { namespace = "", name = "", labelSelector = "", fieldSelector = "" } = this.#selection;
    const request = {
      resource: this.#resource,
      namespace,
      name,
      labelSelector,
      fieldSelector,
      encoding: Encoding.JSON,
    };
    return stream(this.#options, (call) => this.#service.watch(request, call));
  }
}

function batchFrom<T>(response: WatchResponse, kind: ResourceKind | undefined): WatchBatch<T> {
  return { events: response.events.flatMap((event) => eventFrom<T>(event, kind) ?? []) };
}

/** Undefined for a type that a newer service has and this client does not know. */
function eventFrom<T>(event: Event, kind: ResourceKind | undefined): WatchEvent<T> | undefined {
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
