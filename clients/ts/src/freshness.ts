import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { Freshness as FreshnessMessage } from "./gen/kubeconnect/v1/consistency_pb.js";

/** How current a response from the service's cache is. */
export interface Freshness {
  /** Whether the API server is unreachable for the service, so that the data may be outdated. */
  readonly stale: boolean;
  /** The time of the last confirmed contact with the API server. */
  readonly lastContactTime: Date | undefined;
}

/** Converts the API's message; undefined if the service did not report it. */
export function freshnessFrom(message: FreshnessMessage | undefined): Freshness | undefined {
  if (!message) {
    return undefined;
  }
  const { stale, lastContactTime } = message;
  return { stale, lastContactTime: lastContactTime && timestampDate(lastContactTime) };
}
