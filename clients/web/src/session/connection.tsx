import type { Client, KubeconnectError } from "@kubeconnect/client";
import { useClient, useLiveStore } from "@kubeconnect/client/react";
import {
  createContext,
  useContext,
  useMemo,
  useState,
  useSyncExternalStore,
  type ReactNode,
} from "react";
import { healthOf, type Health } from "../model/connection.js";
import { resourceName } from "../model/resource.js";
import { useCatalog, type Catalog } from "./catalog.js";
import { useNamespace } from "./namespace.js";
import { usePreviousReplica } from "./replica.js";
import { useSession } from "./session.js";

const HealthContext = createContext<Health>({ is: "connecting" });

/** Returns what the page is connected to. */
export function useHealth(): Health {
  return useContext(HealthContext);
}

/** The first of these that the caller may list is counted: a cheap store that is always followed. */
const observed = ["namespaces", "nodes", "pods", "services", "configmaps"];

/**
 * Observes the connection of the page. All live stores share one stream, so that the state of one
 * store, which is kept open here, is the state of all.
 */
export function HealthProvider({ children }: { readonly children: ReactNode }) {
  const { isExpired, isPaused, replica } = useSession();
  const [retryAt, setRetryAt] = useState<number>();
  const view = useLiveStore(useObservedStore(useClient(), useCatalog(), setRetryAt));
  const health = healthOf({ ...view, retryAt, isSignedOut: isExpired, isPaused });
  const name = useSyncExternalStore(replica.subscribe, replica.name);
  const previous = usePreviousReplica(name, health.is === "live");
  const shown = health.is === "live" ? { ...health, replica: name, previous } : health;
  return <HealthContext value={shown}>{children}</HealthContext>;
}

function useObservedStore(client: Client, { types }: Catalog, setRetryAt: (time: number) => void) {
  const namespace = useNamespace();
  const names = types.map(({ resource }) => resourceName(resource));
  const resource = observed.find((name) => names.includes(name)) ?? names[0];
  const isNamespaced = types.some(
    (each) => resourceName(each.resource) === resource && each.resource.namespaced,
  );
  return useMemo(() => {
    if (resource === undefined) return undefined;
    return observe(client, resource, isNamespaced ? namespace : undefined, setRetryAt);
  }, [client, resource, isNamespaced, namespace, setRetryAt]);
}

function observe(
  client: Client,
  resource: string,
  namespace: string | undefined,
  setRetryAt: (time: number) => void,
) {
  return client.watchCounts(resource, {
    ...(namespace && { namespace }),
    onRetry: (_error: KubeconnectError, delayMs: number) => {
      setRetryAt(Date.now() + delayMs);
    },
  });
}
