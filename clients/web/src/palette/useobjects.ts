import { KubeconnectError } from "@kubeconnect/client";
import { useClient } from "@kubeconnect/client/react";
import { useEffect, useMemo, useState } from "react";
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

/** The objects of a question. */
interface Answer extends Omit<FoundObjects, "isSearching"> {
  readonly of: object | undefined;
}

const nothing: Answer = { of: undefined, objects: [], error: undefined };

/** Searches for objects while the user types. The earlier objects remain until others are found. */
export function useObjects(text: string): FoundObjects {
  const client = useClient();
  const { types } = useCatalog();
  const namespace = useNamespace();
  const question = useMemo(() => {
    const search = objectSearch(text, types);
    return search && { ...search, client, namespace };
  }, [client, text, types, namespace]);
  const [found, setFound] = useState<Answer>(nothing);
  if (!question && found !== nothing) setFound(nothing);
  useEffect(() => {
    if (!question) return;
    const leaving = new AbortController();
    const timer = setTimeout(() => {
      const lists = question.types.map((type) =>
        findObjects(question.client, type, question.words, question.namespace, leaving.signal),
      );
      void Promise.allSettled(lists).then((results) => {
        if (!leaving.signal.aborted) setFound({ of: question, ...foundFrom(results) });
      });
    }, pauseMs);
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [question]);
  return { ...found, isSearching: found.of !== question };
}

function foundFrom(results: readonly PromiseSettledResult<readonly FoundObject[]>[]) {
  const objects = results.flatMap((result) => (result.status === "fulfilled" ? result.value : []));
  const failed = results.find((result) => result.status === "rejected");
  const error = failed && KubeconnectError.from(failed.reason).message;
  return { objects, error };
}
