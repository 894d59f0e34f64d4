import { KubeconnectError } from "@kubeconnect/client";
import { useEffect, useState } from "react";

/** What a call has returned. */
export interface Loaded<T> {
  readonly value?: T;
  readonly error?: KubeconnectError;
}

/**
 * Calls the service when the key changes, and returns the result; an empty one until then. Without a
 * key nothing is called. The call depends only on the key.
 */
export function useLoaded<T>(
  key: string | undefined,
  call: (signal: AbortSignal) => Promise<T>,
): Loaded<T> {
  const [loaded, setLoaded] = useState<Loaded<T> & { readonly key?: string }>({});
  useEffect(() => {
    if (key === undefined) return;
    const leaving = new AbortController();
    call(leaving.signal).then(
      (value) => {
        setLoaded({ key, value });
      },
      (error: unknown) => {
        if (!leaving.signal.aborted) setLoaded({ key, error: KubeconnectError.from(error) });
      },
    );
    return () => {
      leaving.abort();
    };
  }, [key]);
  return loaded.key === key ? loaded : {};
}
