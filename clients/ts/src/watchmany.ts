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

/** The specification of one of several watches: resource, selection and options. */
export interface WatchSpec extends WatchSelection, Omit<WatchOptions, "resumeToken" | "signal"> {
  /** The resource, named as in kubectl. */
  readonly resource: string;
}

/** Several watches, by the caller's keys. */
export type WatchSpecs<V> = { readonly [K in keyof V]: WatchSpec };

/** Options of several watches. */
export interface WatchManyOptions extends CallOptions {
  /**
   * Resumes each watch after the events that an earlier call with the same watches, in the same
   * order, delivered. A watch that cannot be resumed there begins with RESET.
   */
  readonly resumeToken?: string | undefined;
}

/** The events of one message, all of one of several watches. */
export type WatchManyBatch<V> = {
  [K in Key<V>]: WatchBatch<Value<V[K]>> & {
    /** The key of the watch. */
    readonly watch: K;
    /**
     * Whether each watch has sent a message on this stream, and none is within a snapshot.
     */
    readonly synced: boolean;
  };
}[Key<V>];

/** The key of a watch, and one of its events. */
export type WatchManyEvent<V> = {
  [K in Key<V>]: readonly [watch: K, event: ResumableEvent<Value<V[K]>>];
}[Key<V>];

type Key<V> = keyof V & string;

/** The type of a watch's values. Without a type argument the compiler infers unknown. */
type Value<T> = unknown extends T ? KubeValue : T;

/**
 * Several watches in one stream, which is opened by iterating it, by event or by batch. Each
 * watch begins with RESET, its snapshot as ADDED, and SYNCED, unless it is resumed. There is no
 * order between the events of different watches. One token resumes all watches. It can also be
 * used within a snapshot, which is then sent again from its beginning. Leaving the loop closes
 * the stream.
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

  /** Iterates over the events, each with the key of its watch. */
  async *[Symbol.asyncIterator](): AsyncGenerator<WatchManyEvent<V>, void, undefined> {
    let { resumeToken = "" } = this.#options;
    const freshness = new Map<string, Freshness>();
    const pending = new Map<string, readonly string[]>();
    for await (const batch of this.batches()) {
      if (batch.freshness) freshness.set(batch.watch, batch.freshness);
      const current = freshness.get(batch.watch);
      const warnings = [...(pending.get(batch.watch) ?? []), ...batch.warnings];
      pending.set(batch.watch, batch.events.length > 0 ? [] : warnings);
      for (const event of resumable({ ...batch, warnings }, resumeToken, current)) {
        resumeToken = event.resumeToken;
        yield [batch.watch, event] as WatchManyEvent<V>;
      }
    }
  }

  /** Iterates over the batches: the events of one message of the service at a time. */
  async *batches(): AsyncGenerator<WatchManyBatch<V>, void, undefined> {
    const { resumeToken = "" } = this.#options;
    const watches = this.#watches.map(([key, spec]) => new WatchState(key, spec, resumeToken));
    for await (const response of this.#open(watches)) {
      const watch = required(watches[response.watch], "a watch with this index");
      const batch = watch.read(response);
      for (const each of watches) each.objects?.continues(response.resumeToken);
      const synced = watches.every((each) => each.synced);
      yield { ...batch, watch: watch.key, synced } as WatchManyBatch<V>;
    }
  }

  #open(watches: WatchState[]): AsyncIterable<WatchManyResponse> {
    const { resumeToken = "", signal } = this.#options;
    const request = { watches: watches.map((watch) => watch.request), resumeToken };
    return stream({ signal }, (call) => this.#service.watchMany(request, call));
  }
}

/** The state of one of the watches of a stream. */
class WatchState {
  readonly key: string;
  /** The objects that patches are applied to; undefined if none were requested. */
  readonly objects: HeldObjects | undefined;
  /** Whether it has sent a message, and is not within a snapshot. */
  synced = false;
  readonly #spec: WatchSpec;
  readonly #reader: BatchReader<unknown>;
  #withinSnapshot = false;

  constructor(key: string, spec: WatchSpec, resumeToken: string) {
    this.key = key;
    this.objects = spec.patches?.begin(resumeToken) === true ? spec.patches : undefined;
    this.#spec = spec;
    this.#reader = new BatchReader(this.objects);
  }

  get request() {
    return watchFields(this.#spec.resource, this.#spec, this.#spec, this.objects);
  }

  read({ response, resumeToken }: WatchManyResponse): WatchBatch<unknown> {
    const batch = this.#reader.read(required(response, "the response of a watch"), resumeToken);
    for (const { type } of batch.events) {
      if (type === "RESET") this.#withinSnapshot = true;
      if (type === "SYNCED") this.#withinSnapshot = false;
    }
    this.synced = !this.#withinSnapshot;
    return batch;
  }
}
