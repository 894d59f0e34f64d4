import { loadConfig } from "./config.js";
import { useLoaded } from "./useloaded.js";

/** The name of a pod. */
export interface PodName {
  readonly namespace: string;
  readonly name: string;
}

/**
 * Returns whether the caller may open a terminal in a pod: whether the service passes on connections into
 * containers, and the cluster allows the caller to open them. False until it is known, and without a pod.
 */
export function useMayExec(pod: PodName | undefined): boolean {
  const key = pod && `${pod.namespace}/${pod.name}`;
  const { value } = useLoaded(key, async (client, signal) => {
    const { terminal } = await loadConfig(signal);
    if (!terminal || !pod) return false;
    const check = { verb: "create", resource: "pods", subresource: "exec", ...pod };
    const [decision] = await client.checkAccess([check], { signal });
    return decision?.allowed === true;
  });
  return value === true;
}
