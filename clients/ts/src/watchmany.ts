import { stream } from "./call.js";
import type { WatchBatch, WatchEvent } from "./event.js";
import { EventReader } from "./eventreader.js";
import { EventStream, type EventStreamOptions } from "./eventstream.js";
import type { Freshness } from "./freshness.js";
import type { WatchManyResponse } from "./gen/kubeconnect/v1/watch_pb.js";
import { required, type ResourceServiceClient } from "./message.js";
import type { KubeValue } from "./object.js";
import type { Source } from "./read.js";
import type { CredentialOptions } from "./retry.js";
import type { StreamInfo } from "./streaminfo.js";
import { requestsPatches, watchFields, type WatchSelection } from "./watch.js";

/** One of several watches. */
export interface WatchSpec extends WatchSelection {
  /** The resource, named as in kubectl. */
  readonly resource: string;
}

/** Several watches, by the caller's keys. */
export type WatchSpecs<V> = { readonly [K in keyof V]: WatchSpec };

/**
 * Options of several watches. A `resumeToken`, from an earlier call with the same watches in the
 * same order, resumes each of them. A watch that cannot be resumed there begins with RESET.
 */
export type WatchManyOptions = EventStreamOptions;

/** The events of one message, all of one of several watches. */
export type WatchManyBatch<V> = {
  [K in WatchKey<V>]: WatchBatch<WatchedValue<V[K]>> & {
    /** The key of the watch. */
    readonly watch: K;
    /** Whether each watch has delivered an event, and none is within a snapshot. */
    readonly synced: boolean;
  };
}[WatchKey<V>];

/** The key of a watch, and one of its events. */
export type WatchManyEvent<V> = {
  [K in WatchKey<V>]: readonly [watch: K, event: WatchEvent<WatchedValue<V[K]>>];
}[WatchKey<V>];

/** A value for each watch that has one. */
export type PerWatch<V, T> = Readonly<Partial<Record<WatchKey<V>, T>>>;

/** The keys of several watches. */
export type WatchKey<V> = keyof V & string;

/** The type of a watch's values. Without a type argument the compiler infers unknown. */
export type WatchedValue<T> = unknown extends T ? KubeValue : T;

/**
 * Several watches in one stream, which lasts: see EventStream. Each watch begins with RESET, its
 * snapshot as ADDED, and SYNCED, unless it is resumed. There is no order between the events of
 * different watches. One token resumes all watches. It can also be used within a snapshot, which
 * is then sent again from its beginning.
 */
export class WatchMany<V> extends EventStream<WatchManyBatch<V>, WatchManyEvent<V>> {
  readonly #service: ResourceServiceClient;
  readonly #options: WatchManyOptions;
  readonly #watches: readonly WatchState[];

  /** @internal */
  constructor(
    service: ResourceServiceClient,
    watches: WatchSpecs<V>,
    options: WatchManyOptions & CredentialOptions,
  ) {
    super(options);
    this.#service = service;
    this.#options = options;
    this.#watches = Object.entries<WatchSpec>(watches).map(
      ([key, spec]) => new WatchState(key, spec, options.resumeToken),
    );
  }

  /** How current the events of each watch are, as in Watch. */
  get freshness(): PerWatch<V, Freshness> {
    return this.#perWatch(({ freshness }) => freshness);
  }

  /** Where the objects of each watch are read, as last reported. */
  get source(): PerWatch<V, Source> {
    return this.#perWatch(({ source }) => source);
  }

  /** The namespaces that the events of each watch cover, as in WatchBatch, as last sent. */
  get namespaces(): PerWatch<V, readonly string[]> {
    return this.#perWatch(({ namespaces }) => namespaces);
  }

  /** The human-readable warnings that apply to the events of each watch, as last sent. */
  get warnings(): PerWatch<V, readonly string[]> {
    return this.#perWatch(({ warnings }) => warnings);
  }

  protected override async *open(
    signal: AbortSignal,
    resumeToken: string,
  ): AsyncGenerator<WatchManyBatch<V>, void, undefined> {
    const request = { watches: this.#watches.map((watch) => watch.request), resumeToken };
    const { headers } = this.#options;
    for await (const response of stream({ signal, headers }, (call) =>
      this.#service.watchMany(request, call),
    )) {
      const watch = required(this.#watches[response.watchIndex], "a watch with this index");
      const batch = watch.read(response);
      const synced = this.#watches.every((each) => each.synced);
      yield { ...batch, watch: watch.key, synced } as WatchManyBatch<V>;
    }
  }

  protected override deliver(
    { watch }: WatchManyBatch<V>,
    event: WatchEvent<unknown>,
  ): WatchManyEvent<V> {
    return [watch, event] as unknown as WatchManyEvent<V>;
  }

  protected override markLost(): void {
    for (const { reader } of this.#watches) reader.info.markLost();
  }

  #perWatch<T>(value: (info: StreamInfo) => T | undefined): PerWatch<V, T> {
    const entries = this.#watches.map(({ key, reader }) => [key, value(reader.info)] as const);
    const known = entries.filter(([, value]) => value !== undefined);
    return Object.fromEntries(known) as PerWatch<V, T>;
  }
}

/** The state of one of several watches, over all their streams. */
class WatchState {
  readonly key: string;
  readonly reader: EventReader<unknown>;
  readonly #spec: WatchSpec;
  #delivered = false;
  #withinSnapshot = false;

  constructor(key: string, spec: WatchSpec, resumeToken: string | undefined) {
    this.key = key;
    this.#spec = spec;
    this.reader = new EventReader(requestsPatches(spec, resumeToken));
  }

  /** Whether it has delivered an event, and is not within a snapshot. */
  get synced(): boolean {
    return this.#delivered && !this.#withinSnapshot;
  }

  /** The request. A watch that is in sync has reached its `minResourceVersion`. */
  get request() {
    const { patches } = this.reader;
    return watchFields(this.#spec.resource, this.#spec, { isReached: this.synced, patches });
  }

  read({ response, resumeToken }: WatchManyResponse): WatchBatch<unknown> {
    const batch = this.reader.read(required(response, "the response of a watch"), resumeToken);
    for (const { type, resourceVersion } of batch.events) {
      // A BOOKMARK without a version is sent while the first snapshot is being prepared.
      if (type !== "BOOKMARK" || resourceVersion !== "") this.#delivered = true;
      if (type === "RESET") this.#withinSnapshot = true;
      if (type === "SYNCED") this.#withinSnapshot = false;
    }
    return batch;
  }
}
