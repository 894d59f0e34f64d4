import { KubeconnectError } from "@kubeconnect/client";
import { useClient } from "@kubeconnect/client/react";
import { useEffect, useState } from "react";
import { useCatalog } from "../session/catalog.js";
import { useNamespace } from "../session/namespace.js";
import { findObjects, objectSearch, type FoundObject } from "./search.js";

/** How long the user must pause until objects are searched. */
const pauseMs = 150;

/** The state of a search for objects. */
export interface FoundObjects {
  readonly objects: readonly FoundObject[];
  readonly isSearching: boolean;
  /** Why some types could not be searched. */
  readonly error: string | undefined;
}

const none: FoundObjects = { objects: [], isSearching: false, error: undefined };

/** Searches for objects while the user types. The earlier objects remain until others are found. */
export function useObjects(text: string): FoundObjects {
  const client = useClient();
  const { types } = useCatalog();
  const namespace = useNamespace();
  const [found, setFound] = useState(none);
  useEffect(() => {
    const search = objectSearch(text, types);
    if (!search) {
      setFound(none);
      return;
    }
    setFound((earlier) => ({ ...earlier, isSearching: true }));
    const leaving = new AbortController();
    const timer = setTimeout(() => {
      const lists = search.types.map((type) =>
        findObjects(client, type, search.words, namespace, leaving.signal),
      );
      void Promise.allSettled(lists).then((results) => {
        if (!leaving.signal.aborted) setFound(foundFrom(results));
      });
    }, pauseMs);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [client, text, types, namespace]);
  return found;
}

function foundFrom(results: readonly PromiseSettledResult<readonly FoundObject[]>[]): FoundObjects {
  const objects = results.flatMap((result) => (result.status === "fulfilled" ? result.value : []));
  const failed = results.find((result) => result.status === "rejected");
  const error = failed && KubeconnectError.from(failed.reason).message;
  return { objects, isSearching: false, error };
}
