import { BatchReader, resumable } from "./batch.js";
import { stream, type ReadOptions } from "./call.js";
import type { Freshness } from "./freshness.js";
import { Encoding } from "./gen/kubeconnect/v1/object_pb.js";
import { PatchType, type WatchResponse } from "./gen/kubeconnect/v1/resource_service_pb.js";
import type { ResourceServiceClient } from "./message.js";
import type { KubeObject, KubeValue } from "./object.js";
import type { HeldObjects } from "./patches.js";
import { objectFields, type FieldOptions, type Source } from "./read.js";
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
       * object's value throws. Ignore the deletion of what you do not hold. Between
       * RESET and SYNCED, MODIFIED and DELETED are changes since the snapshot began.
       */
      readonly type: "ADDED" | "MODIFIED" | "DELETED";
      readonly object: KubeObject<T>;
      /** The version of the event itself. */
      readonly resourceVersion: string;
    }
  | {
      /**
       * RESET: forget what you hold, a snapshot follows. SYNCED: the snapshot is
       * complete. BOOKMARK: nothing has happened, up to this version. The version never
       * goes back, except after a RESET.
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
  /** Where the objects come from, as this stream last told. */
  readonly source: Source | undefined;
  /**
   * The namespaces that the stream covers now, in order, where the caller asked for all
   * namespaces and may not list all of them. Empty: it covers all that was asked for.
   */
  readonly namespaces: readonly string[];
  /**
   * For people, where this batch has any: that the stream covers some namespaces only, and
   * objects for which the filter has no value. They come with the first batch and with each
   * RESET; one about the filter when it becomes true.
   */
  readonly warnings: readonly string[];
}

/** An event with what was told of the stream up to it. */
export type ResumableEvent<T = KubeValue> = WatchEvent<T> & {
  /** Where to continue behind this event; empty where that is impossible. */
  readonly resumeToken: string;
  /** How current the stream is, as last told. */
  readonly freshness: Freshness | undefined;
  /** Where the objects come from, as last told. */
  readonly source: Source | undefined;
  /** As in WatchBatch. */
  readonly namespaces: readonly string[];
  /** As in WatchBatch: what has come since the event before. */
  readonly warnings: readonly string[];
};

/**
 * A watch that is opened by iterating it: event by event, or batch by batch. It
 * begins with RESET, the snapshot as ADDED, and SYNCED, unless it is resumed.
 * Leaving the loop ends the stream.
 */
export class Watch<T = KubeValue> implements AsyncIterable<ResumableEvent<T>> {
  readonly #service: ResourceServiceClient;
  readonly #resource: string;
  readonly #selection: WatchSelection;
  readonly #options: WatchOptions;

  constructor(
    service: ResourceServiceClient,
    resource: string,
    selection: WatchSelection,
    options: WatchOptions,
  ) {
    this.#service = service;
    this.#resource = resource;
    this.#selection = selection;
    this.#options = options;
  }

  /** The events, one by one. */
  async *[Symbol.asyncIterator](): AsyncGenerator<ResumableEvent<T>, void, undefined> {
    let { resumeToken = "" } = this.#options;
    let freshness: Freshness | undefined;
    let warnings: readonly string[] = [];
    for await (const batch of this.batches()) {
      freshness = batch.freshness ?? freshness;
      warnings = [...warnings, ...batch.warnings];
      for (const event of resumable({ ...batch, warnings }, resumeToken, freshness)) {
        resumeToken = event.resumeToken;
        warnings = [];
        yield event;
      }
    }
  }

  /** The events, as many at a time as the service sent together. */
  async *batches(): AsyncGenerator<WatchBatch<T>, void, undefined> {
    const { patches, resumeToken = "" } = this.#options;
    const held = patches?.begin(resumeToken) === true ? patches : undefined;
    const reader = new BatchReader<T>(held);
    for await (const response of this.#open(held)) {
      yield reader.read(response, response.resumeToken);
    }
  }

  #open(held: HeldObjects | undefined): AsyncIterable<WatchResponse> {
    const { resumeToken = "", signal } = this.#options;
    const fields = watchFields(this.#resource, this.#selection, this.#options, held);
    const request = { ...fields, resumeToken };
    return stream({ signal }, (call) => this.#service.watch(request, call));
  }
}

/**
 * The fields of a request that watches, but for those that say where the stream begins.
 *
 * @param held what patches are to; undefined where none may come.
 */
export function watchFields(
  resource: string,
  selection: WatchSelection,
  options: Pick<WatchOptions, "fields" | "metadataOnly" | "minResourceVersion">,
  held: HeldObjects | undefined,
) {
  const { name = "" } = selection;
  const { minResourceVersion = "" } = options;
  return {
    resource,
    ...selectionFields(selection),
    name,
    minResourceVersion,
    encoding: Encoding.JSON,
    ...objectFields(options),
    patches: held ? PatchType.JSON : PatchType.UNSPECIFIED,
  };
}
