import { stream } from "./call.js";
import type { WatchBatch, WatchEvent } from "./event.js";
import { EventReader } from "./eventreader.js";
import { EventStream, type EventStreamOptions } from "./eventstream.js";
import type { Freshness } from "./freshness.js";
import { Encoding } from "./gen/kubeconnect/v1/object_pb.js";
import { PatchFormat } from "./gen/kubeconnect/v1/watch_pb.js";
import type { ResourceServiceClient } from "./message.js";
import type { KubeValue } from "./object.js";
import { objectFields, type FieldOptions, type Source } from "./read.js";
import type { CredentialOptions } from "./retry.js";
import { selectionFields, type Selection } from "./selection.js";

/**
 * The objects to watch, and what to send of them. An object that enters the selection is delivered
 * as ADDED, an object that leaves it as DELETED. `related` is evaluated when a stream begins. A
 * change that does not touch `fields`, or the metadata with `metadataOnly`, produces no event.
 */
export interface WatchSelection extends Selection, FieldOptions {
  /** One object by its name. The permission for that name is sufficient then. */
  readonly name?: string | undefined;
  /** Waits until the cache has reached this version, as in ReadOptions. */
  readonly minResourceVersion?: string | undefined;
  /**
   * Lets the service send changed objects as patches. The events still have complete objects: the
   * watch caches all delivered objects and applies the patches to them. A watch that begins with a
   * `resumeToken` has no objects cached, and is sent complete objects.
   */
  readonly patches?: boolean | undefined;
}

/** Options of a watch. */
export interface WatchOptions extends WatchSelection, EventStreamOptions {}

/**
 * A watch, which begins with RESET, the snapshot as ADDED, and SYNCED, unless it is resumed, and
 * lasts: see EventStream.
 */
export class Watch<T = KubeValue> extends EventStream<WatchBatch<T>, WatchEvent<T>> {
  readonly #service: ResourceServiceClient;
  readonly #resource: string;
  readonly #options: WatchOptions;
  readonly #reader: EventReader<T>;

  /** @internal */
  constructor(
    service: ResourceServiceClient,
    resource: string,
    options: WatchOptions & CredentialOptions,
  ) {
    super(options);
    this.#service = service;
    this.#resource = resource;
    this.#options = options;
    this.#reader = new EventReader(requestsPatches(options, options.resumeToken));
  }

  /**
   * How current the events are, as last reported by the service, which reports it every few
   * seconds; undefined before the first report. It is also stale from the loss of a stream until
   * the first report on the next stream.
   */
  get freshness(): Freshness | undefined {
    return this.#reader.info.freshness;
  }

  /** Where the objects are read, as last reported. */
  get source(): Source | undefined {
    return this.#reader.info.source;
  }

  /** The namespaces that the events cover, as in WatchBatch, as last sent. */
  get namespaces(): readonly string[] {
    return this.#reader.info.namespaces;
  }

  /** The human-readable warnings that apply to the events, as last sent. */
  get warnings(): readonly string[] {
    return this.#reader.info.warnings;
  }

  protected override async *open(
    signal: AbortSignal,
    resumeToken: string,
  ): AsyncGenerator<WatchBatch<T>, void, undefined> {
    const { info, patches } = this.#reader;
    // A token of this watch is newer than the version.
    const isReached = info.received && resumeToken !== "";
    const request = {
      ...watchFields(this.#resource, this.#options, { isReached, patches }),
      resumeToken,
    };
    const { headers } = this.#options;
    for await (const response of stream({ signal, headers }, (call) =>
      this.#service.watch(request, call),
    )) {
      yield this.#reader.read(response, response.resumeToken);
    }
  }

  protected override deliver(_: WatchBatch<T>, event: WatchEvent<T>): WatchEvent<T> {
    return event;
  }

  protected override markLost(): void {
    this.#reader.info.markLost();
  }
}

/** Returns whether a watch requests patches. */
export function requestsPatches({ patches = false }: WatchSelection, resumeToken = ""): boolean {
  return patches && resumeToken === "";
}

/**
 * Returns the fields of a watch request, except the token.
 *
 * @param isReached Whether the watch has reached its `minResourceVersion`.
 * @param patches Whether to request patches.
 */
export function watchFields(
  resource: string,
  selection: WatchSelection,
  { isReached, patches }: { isReached: boolean; patches: boolean },
) {
  const { name = "", minResourceVersion = "" } = selection;
  return {
    resource,
    ...selectionFields(selection),
    name,
    minResourceVersion: isReached ? "" : minResourceVersion,
    encoding: Encoding.JSON,
    ...objectFields(selection),
    patchFormat: patches ? PatchFormat.JSON : PatchFormat.UNSPECIFIED,
  };
}
