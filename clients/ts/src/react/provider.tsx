import { createContext, useContext, useMemo, type ReactNode } from "react";
import type { Client } from "../client.js";

/** Properties of KubeconnectProvider. */
export interface KubeconnectProviderProps {
  /** The client of the hooks. Create it outside of components. */
  readonly client: Client;
  /**
   * The time in milliseconds that a stream stays open after its last component was unmounted, so
   * that a component that is mounted again has its data at once. Default: 5,000.
   */
  readonly lingerMs?: number | undefined;
  readonly children?: ReactNode;
}

/** What the hooks need of their provider. */
export interface KubeconnectContext {
  readonly client: Client;
  readonly lingerMs: number;
}

const context = createContext<KubeconnectContext | undefined>(undefined);

/** Passes a client to the hooks of all components in it. */
export function KubeconnectProvider({
  client,
  lingerMs = 5_000,
  children,
}: KubeconnectProviderProps): ReactNode {
  const value = useMemo(() => ({ client, lingerMs }), [client, lingerMs]);
  return <context.Provider value={value}>{children}</context.Provider>;
}

/** Returns the context of the provider. Throws without a provider. */
export function useKubeconnect(): KubeconnectContext {
  const value = useContext(context);
  if (!value) {
    throw new Error(
      "there is no kubeconnect client: render the component within a KubeconnectProvider",
    );
  }
  return value;
}

/** Returns the client of the KubeconnectProvider, for calls in event handlers. */
export function useClient(): Client {
  return useKubeconnect().client;
}
