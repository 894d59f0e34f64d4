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
 * The objects to watch. An object that enters the selection is delivered as ADDED, an object that
 * leaves it as DELETED. `related` is evaluated when the stream begins.
 */
export interface WatchSelection extends Selection {
  /** One object by its name. The permission for that name is sufficient then. */
  readonly name?: string | undefined;
}

/**
 * Options of a watch. A change that does not touch `fields`, or the metadata with `metadataOnly`,
 * produces no event.
 */
export interface WatchOptions extends ReadOptions, FieldOptions {
  /**
   * Resumes after the events that an earlier watch of the same selection delivered. If the
   * service cannot resume there, or if the token is empty, the stream begins with RESET.
   */
  readonly resumeToken?: string | undefined;
  /**
   * Lets the service send changed objects as patches, which are applied to these objects. The
   * events still have complete objects.
   */
  readonly patches?: HeldObjects | undefined;
}

/** A change of a selection, or a mark in its stream. */
export type WatchEvent<T = KubeValue> =
  | {
      /**
       * ADDED: the object was created, has entered the selection, or is in the snapshot.
       * MODIFIED: the object was changed. DELETED: the object was deleted, or has left the
       * selection. A DELETED object has its last state; in a resumed stream it may have no
       * content, and reading its value throws. Ignore the deletion of objects that you do not
       * have. Between RESET and SYNCED, MODIFIED and DELETED are changes since the snapshot
       * began.
       */
      readonly type: "ADDED" | "MODIFIED" | "DELETED";
      readonly object: KubeObject<T>;
      /** The version of the event itself. */
      readonly resourceVersion: string;
    }
  | {
      /**
       * RESET: clear your copy, a snapshot follows. SYNCED: the snapshot is complete. BOOKMARK:
       * all changes up to this version have been delivered. The version never decreases, except
       * after a RESET.
       */
      readonly type: "RESET" | "SYNCED" | "BOOKMARK";
      readonly resourceVersion: string;
    };

/** The events of one message: apply them, then render once. */
export interface WatchBatch<T = KubeValue> {
  readonly events: readonly WatchEvent<T>[];
  /**
   * The token that resumes after this batch. Empty within a snapshot: earlier tokens cannot be
   * used then either.
   */
  readonly resumeToken: string;
  /** How current the stream is; undefined if this batch does not report it. */
  readonly freshness: Freshness | undefined;
  /** Where the objects are read, as last reported by this stream. */
  readonly source: Source | undefined;
  /**
   * The namespaces that the stream covers, in order, if all were requested and the caller is not
   * allowed to list all of them. Empty if it covers all requested namespaces.
   */
  readonly namespaces: readonly string[];
  /**
   * The human-readable warnings of this batch: that the stream covers only some namespaces, and
   * objects for which the filter has no value. They are sent with the first batch and with each
   * RESET; warnings about the filter also when they begin to apply.
   */
  readonly warnings: readonly string[];
}

/** An event with the state of the stream after it. */
export type ResumableEvent<T = KubeValue> = WatchEvent<T> & {
  /** The token that resumes after this event; empty if resuming is not possible. */
  readonly resumeToken: string;
  /** How current the stream is, as last reported. */
  readonly freshness: Freshness | undefined;
  /** Where the objects are read, as last reported. */
  readonly source: Source | undefined;
  /** The namespaces that the stream covers, as in WatchBatch. */
  readonly namespaces: readonly string[];
  /** The warnings since the previous event, as in WatchBatch. */
  readonly warnings: readonly string[];
};

/**
 * A watch. Its stream is opened by iterating it, by event or by batch. The stream begins with
 * RESET, the snapshot as ADDED, and SYNCED, unless it is resumed. Leaving the loop closes the
 * stream.
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

  /** Iterates over the events. */
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

  /** Iterates over the batches: the events of one message of the service at a time. */
  async *batches(): AsyncGenerator<WatchBatch<T>, void, undefined> {
    const { patches, resumeToken = "" } = this.#options;
    const objects = patches?.begin(resumeToken) === true ? patches : undefined;
    const reader = new BatchReader<T>(objects);
    for await (const response of this.#open(objects)) {
      yield reader.read(response, response.resumeToken);
    }
  }

  #open(objects: HeldObjects | undefined): AsyncIterable<WatchResponse> {
    const { resumeToken = "", signal } = this.#options;
    const fields = watchFields(this.#resource, this.#selection, this.#options, objects);
    const request = { ...fields, resumeToken };
    return stream({ signal }, (call) => this.#service.watch(request, call));
  }
}

/**
 * Returns the fields of a watch request, except those for the beginning of the stream.
 *
 * @param objects The objects that patches are applied to; undefined to request no patches.
 */
export function watchFields(
  resource: string,
  selection: WatchSelection,
  options: Pick<WatchOptions, "fields" | "metadataOnly" | "minResourceVersion">,
  objects: HeldObjects | undefined,
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
    patches: objects ? PatchType.JSON : PatchType.UNSPECIFIED,
  };
}
