import type { FailedGroupVersion, ResourceType } from "@kubeconnect/client";
import { useClient, useCount } from "@kubeconnect/client/react";
import { createContext, useContext, useEffect, useMemo, useState, type ReactNode } from "react";
import { resourceName } from "../model/resource.js";
import { isLive, typeLabel } from "../model/types.js";
import { listable } from "./access.js";
import { useNamespace } from "./namespace.js";

/** How often the types and permissions are read again. Changes of CRDs are seen at once. */
const refreshMs = 5 * 60_000;

/** The delay after which they are read again after an error. */
const retryMs = 5_000;

/** The resource types that the views offer. */
export interface Catalog {
  /** All types that the cluster serves. */
  readonly all: readonly ResourceType[];
  /** The live types that the caller may list in the chosen namespace. */
  readonly types: readonly ResourceType[];
  readonly failed: readonly FailedGroupVersion[];
  /** The namespaces that the caller may read; empty for a caller that may read all. */
  readonly namespaces: readonly string[];
  readonly loaded: boolean;
  readonly error: Error | undefined;
  /** Reads the types again. */
  readonly retry: () => void;
}

const nothing = { all: [], types: [], failed: [], namespaces: [], loaded: false, error: undefined };

const CatalogContext = createContext<Catalog | undefined>(undefined);

export function useCatalog(): Catalog {
  const catalog = useContext(CatalogContext);
  if (!catalog) throw new Error("no catalog");
  return catalog;
}

/** Returns whether the caller may list a resource. */
export function mayList({ types }: Pick<Catalog, "types">, name: string): boolean {
  return types.some(({ resource }) => resourceName(resource) === name);
}

/** Returns the label of a resource from an address. */
export function labelOf({ all }: Pick<Catalog, "all">, name: string): string {
  const type = all.find(({ resource }) => resourceName(resource) === name);
  return type ? typeLabel(type) : name;
}

const crds = "customresourcedefinitions.apiextensions.k8s.io";

/** Reads what the cluster serves and the caller may list, and again when that may have changed. */
export function CatalogProvider({ children }: { readonly children: ReactNode }) {
  const client = useClient();
  const namespace = useNamespace();
  const [state, setState] = useState<Omit<Catalog, "retry">>(nothing);
  const [attempt, setAttempt] = useState(0);
  const crdCount = useCount(mayList(state, crds) ? crds : null, { groupBy: ["metadata.name"] });
  const definitions = JSON.stringify(crdCount.groups.map(({ values }) => values));
  useEffect(() => {
    const leaving = new AbortController();
    const read = async (): Promise<void> => {
      const { types, failedGroupVersions } = await client.resourceTypes(leaving);
      const found = await listable(client, types.filter(isLive), namespace, leaving.signal);
      setState({
        ...found,
        all: types,
        failed: failedGroupVersions,
        loaded: true,
        error: undefined,
      });
    };
    let retrying: ReturnType<typeof setTimeout> | undefined;
    const start = (): void => {
      clearTimeout(retrying);
      read().catch((error: unknown) => {
        if (leaving.signal.aborted || !(error instanceof Error)) return;
        setState((earlier) => ({ ...earlier, error }));
        retrying = setTimeout(startIfShown, retryMs);
      });
    };
    const startIfShown = (): void => {
      if (!document.hidden) start();
    };
    start();
    const timer = setInterval(startIfShown, refreshMs);
    return () => {
      clearTimeout(retrying);
      clearInterval(timer);
      leaving.abort();
    };
  }, [client, namespace, definitions, attempt]);
  const catalog = useMemo(
    () => ({
      ...state,
      retry: () => {
        setAttempt((number) => number + 1);
      },
    }),
    [state],
  );
  return <CatalogContext value={catalog}>{children}</CatalogContext>;
}
