import type { WhoAmIResponse } from "./gen/kubeconnect/v1/access_service_pb.js";

/** Whom the cluster knows a caller as. */
export interface Identity {
  /** Such as "system:serviceaccount:default:reader". */
  readonly username: string;
  /** Empty where the cluster gives none. */
  readonly uid: string;
  readonly groups: readonly string[];
}

export function identityFrom({ username, uid, groups }: WhoAmIResponse): Identity {
  return { username, uid, groups };
}
