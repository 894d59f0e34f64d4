import { useLivePage } from "@kubeconnect/client/react";
import { mayList, useCatalog } from "./catalog.js";

/** The maximum number of namespaces that are shown. */
const limit = 500;

/** The namespaces that the caller can choose. */
export interface Namespaces {
  readonly names: readonly string[];
  /** Whether there can be more, which the caller must type. */
  readonly isPartial: boolean;
}

/** Returns the namespaces, live; for a caller that may not list them, those that it may read. */
export function useNamespaces(): Namespaces {
  const catalog = useCatalog();
  const isListed = mayList(catalog, "namespaces");
  const { items, total } = useLivePage(isListed ? "namespaces" : null, {
    limit,
    fields: ["metadata.name"],
  });
  if (!isListed) return { names: catalog.namespaces, isPartial: true };
  return { names: items.map(({ name }) => name), isPartial: total > limit };
}
