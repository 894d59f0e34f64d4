import type { WhoAmIResponse } from "./gen/kubeconnect/v1/access_service_pb.js";

/** The identity of a caller in the cluster. */
export interface Identity {
  /** The user name, such as "system:serviceaccount:default:reader". */
  readonly username: string;
  /** The user's UID; empty if it has none. */
  readonly uid: string;
  readonly groups: readonly string[];
  /** Additional information from the authenticator, by key. */
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

export function identityFrom({ username, uid, groups, extra }: WhoAmIResponse): Identity {
  const values = Object.entries(extra).map(([key, { values }]) => [key, values] as const);
  return { username, uid, groups, extra: Object.fromEntries(values) };
}
