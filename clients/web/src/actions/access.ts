import type { AccessCheck, AccessDecision } from "@kubeconnect/client";
import { useLoaded, type Loaded } from "../session/useloaded.js";

/** Checks permissions of the caller, in one call. The checks are compared by value. */
export function useAccess(checks: readonly AccessCheck[]): Loaded<readonly AccessDecision[]> {
  return useLoaded(JSON.stringify(checks), (client, signal) =>
    client.checkAccess(checks, { signal }),
  );
}
