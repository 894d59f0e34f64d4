import { Code } from "@kubeconnect/client";
import { useSession } from "./session.js";
import { useLoaded } from "./useloaded.js";

/**
 * Reports whether signing out has an effect: not if the service responds to the same user without a
 * token, because it does not authenticate, or by the client certificate of the browser.
 */
export function useCanSignOut(): boolean {
  const { connect, identity } = useSession();
  const { username } = identity;
  const { value, error } = useLoaded(username, (_, signal) => connect().whoAmI({ signal }));
  if (error) return error.code === Code.Unauthenticated;
  return value !== undefined && value.username !== username;
}
