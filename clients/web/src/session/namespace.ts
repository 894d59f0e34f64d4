import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback } from "react";

/** Returns the namespace that all views show; undefined for all namespaces. */
export function useNamespace(): string | undefined {
  const { ns } = useSearch({ strict: false });
  return ns || undefined;
}

/** Returns a function that shows the present view in another namespace. */
export function useSetNamespace(): (namespace: string | undefined) => void {
  const navigate = useNavigate();
  return useCallback(
    (namespace) => {
      void navigate({ to: ".", search: (search) => ({ ...search, ns: namespace || undefined }) });
    },
    [navigate],
  );
}
