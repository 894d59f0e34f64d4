import type { Freshness } from "./freshness.js";
import type { KubeObject, KubeValue } from "./object.js";
import type { Source } from "./read.js";

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
  /** Where the objects are read, as last reported. */
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
