import { create, toBinary, type MessageInitShape } from "@bufbuild/protobuf";
import type { KubeconnectError } from "./error.js";
import {
  WatchCountsRequestSchema,
  type WatchCountsRequest,
} from "./gen/kubeconnect/v1/watch_counts_pb.js";
import {
  WatchSpecSchema,
  type WatchManyResponse,
  type WatchSpec,
} from "./gen/kubeconnect/v1/watch_pb.js";
import type { Progress, RetryPolicy } from "./retry.js";

/** What to request for a part: a watch, with its own token, or counts. */
export type PartRequest =
  | { readonly watch: WatchSpec; readonly counts?: undefined }
  | { readonly watch?: undefined; readonly counts: WatchCountsRequest };

/** A watch, or counts, that shares a stream with others: see SharedStream. */
export interface Part {
  /** Decides whether the part is requested again after an error that is its own. */
  readonly retry: RetryPolicy;

  /** Returns the maximum number of objects of its page; 0 if it is not a page. */
  pageLimit(): number;

  /**
   * Returns whether it has received a part of a snapshot that cannot be resumed: a new request would
   * begin with the first object again.
   */
  isWithinSnapshot(): boolean;

  /**
   * Returns a request that resumes after the last response. `receive` is called only with responses
   * to the last request.
   */
  request(): PartRequest;

  /** Reads a response, and returns its status. Throws if the part cannot be continued. */
  receive(response: WatchManyResponse): Progress;

  /** Records a failure after which the part will be requested again. */
  lost(error: KubeconnectError, delayMs: number): void;

  /** Records a failure that has ended the part. */
  failed(error: unknown): void;
}

/** A part's membership in a stream. */
export interface Membership {
  /** Requests the part again, because its request has changed. */
  update(): void;
  /** Ends the membership. The part receives nothing from now on. */
  leave(): void;
}

/** Returns a request for a watch. Throws if a field has an invalid type. */
export function watchPart(fields: MessageInitShape<typeof WatchSpecSchema>): PartRequest {
  const watch = create(WatchSpecSchema, fields);
  toBinary(WatchSpecSchema, watch);
  return { watch };
}

/** Returns a request for counts. Throws if a field has an invalid type. */
export function countsPart(fields: MessageInitShape<typeof WatchCountsRequestSchema>): PartRequest {
  const counts = create(WatchCountsRequestSchema, fields);
  toBinary(WatchCountsRequestSchema, counts);
  return { counts };
}
