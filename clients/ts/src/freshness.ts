import { timestampDate } from "@bufbuild/protobuf/wkt";
import type { Freshness as FreshnessMessage } from "./gen/kubeconnect/v1/resource_service_pb.js";

/** How current an answer is: the service answers from memory. */
export interface Freshness {
  /** Whether the service has lost the API server, so that nothing newer is known. */
  readonly stale: boolean;
  /** When the API server was last known to be there. */
  readonly lastContact: Date | undefined;
}

/** Undefined where the service has not told. */
export function freshnessFrom(message: FreshnessMessage | undefined): Freshness | undefined {
  if (!message) {
    return undefined;
  }
  const { stale, lastContact } = message;
  return { stale, lastContact: lastContact && timestampDate(lastContact) };
}
