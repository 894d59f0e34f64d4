import { BatchReader, resumable } from "./batch.js";
import { stream, type CallOptions } from "./call.js";
import type { Freshness } from "./freshness.js";
import type { WatchManyResponse } from "./gen/kubeconnect/v1/resource_service_pb.js";
import { required, type ResourceServiceClient } from "./message.js";
import type { KubeValue } from "./object.js";
import type { HeldObjects } from "./patches.js";
import {
  watchFields,
  type ResumableEvent,
  type WatchBatch,
  type WatchOptions,
  type WatchSelection,
} from "./watch.js";

/** One of several watches: of which resource, which objects, and how. */
export interface WatchSpec extends WatchSelection, Omit<WatchOptions, "resumeToken" | "signal"> {
  /** The resource, as kubectl names it. */
  readonly resource: string;
}

/** Several watches, by the caller's keys. */
export type WatchSpecs<V> = { readonly [K in keyof V]: WatchSpec };

/** How to watch them. */
export interface WatchManyOptions extends CallOptions {
  /**
   * Continues each watch behind what an earlier call with the same watches, in the same
   * order, has told. One that cannot be resumed there begins with RESET.
   */
  readonly resumeToken?: string | undefined;
}

/** What one of several watches has told in one message. */
export type WatchManyBatch<V> = {
  [K in Key<V>]: WatchBatch<Value<V[K]>> & {
    /** The key of the watch. */
    readonly watch: K;
    /**
     * Whether each of the watches has told something on this stream, and none is within a
     * snapshot.
     */
    readonly synced: boolean;
  };
}[Key<V>];

/** The key of a watch, and what it tells. */
export type WatchManyEvent<V> = {
  [K in Key<V>]: readonly [watch: K, event: ResumableEvent<Value<V[K]>>];
}[Key<V>];

type Key<V> = keyof V & string;

/** Where no type is given, the compiler infers unknown. */
type Value<T> = unknown extends T ? KubeValue : T;

/**
 * Several watches in one stream, which is opened by iterating it: event by event, or batch
 * by batch. Each begins with RESET, its snapshot as ADDED, and SYNCED, unless it is
 * resumed; among each other they have no order. One token continues all of them, also
 * within a snapshot, which begins anew then. Leaving the loop ends the stream.
 */
export class WatchMany<V> implements AsyncIterable<WatchManyEvent<V>> {
  readonly #service: ResourceServiceClient;
  readonly #watches: [Key<V>, WatchSpec][];
  readonly #options: WatchManyOptions;

  constructor(service: ResourceServiceClient, watches: WatchSpecs<V>, options: WatchManyOptions) {
    this.#service = service;
    this.#watches = Object.entries(watches) as [Key<V>, WatchSpec][];
    this.#options = options;
  }

  /** The events, one by one, each with the key of its watch. */
  async *[Symbol.asyncIterator](): AsyncGenerator<WatchManyEvent<V>, void, undefined> {
    let { resumeToken = "" } = this.#options;
    const told = new Map<string, Freshness>();
    const pending = new Map<string, readonly string[]>();
    for await (const batch of this.batches()) {
      if (batch.freshness) told.set(batch.watch, batch.freshness);
      const warnings = [...(pending.get(batch.watch) ?? []), ...batch.warnings];
      pending.set(batch.watch, batch.events.length > 0 ? [] : warnings);
      for (const event of resumable({ ...batch, warnings }, resumeToken, told.get(batch.watch))) {
        resumeToken = event.resumeToken;
        yield [batch.watch, event] as WatchManyEvent<V>;
      }
    }
  }

  /** The events, as many at a time as the service sent together. */
  async *batches(): AsyncGenerator<WatchManyBatch<V>, void, undefined> {
    const { resumeToken = "" } = this.#options;
    const watches = this.#watches.map(([key, spec]) => new OneOfMany(key, spec, resumeToken));
    for await (const response of this.#open(watches)) {
      const watch = required(watches[response.watch], "one of the watches");
      const batch = watch.read(response);
      for (const each of watches) each.held?.continues(response.resumeToken);
      const synced = watches.every((each) => each.synced);
      yield { ...batch, watch: watch.key, synced } as WatchManyBatch<V>;
    }
  }

  #open(watches: OneOfMany[]): AsyncIterable<WatchManyResponse> {
    const { resumeToken = "", signal } = this.#options;
    const request = { watches: watches.map((watch) => watch.request), resumeToken };
    return stream({ signal }, (call) => this.#service.watchMany(request, call));
  }
}

/** One of the watches of a stream. */
class OneOfMany {
  readonly key: string;
  /** What patches are to; undefined where none may come. */
  readonly held: HeldObjects | undefined;
  /** Whether it has told something, and is not within a snapshot. */
  synced = false;
  readonly #spec: WatchSpec;
  readonly #reader: BatchReader<unknown>;
  #withinSnapshot = false;

  constructor(key: string, spec: WatchSpec, resumeToken: string) {
    this.key = key;
    this.held = spec.patches?.begin(resumeToken) === true ? spec.patches : undefined;
    this.#spec = spec;
    this.#reader = new BatchReader(this.held);
  }

  get request() {
    return watchFields(this.#spec.resource, this.#spec, this.#spec, this.held);
  }

  read({ response, resumeToken }: WatchManyResponse): WatchBatch<unknown> {
    const batch = this.#reader.read(required(response, "what a watch tells"), resumeToken);
    for (const { type } of batch.events) {
      if (type === "RESET") this.#withinSnapshot = true;
      if (type === "SYNCED") this.#withinSnapshot = false;
    }
    this.synced = !this.#withinSnapshot;
    return batch;
  }
}
