import { KubeconnectError, type Client } from "@kubeconnect/client";
import { useClient } from "@kubeconnect/client/react";
import { useEffect, useEffectEvent, useState } from "react";

/** What a call has returned. */
export interface Loaded<T> {
  readonly value?: T;
  readonly error?: KubeconnectError;
}

/**
 * Calls the service when the key or the client changes, which is another one for another user, and
 * returns the result; an empty one until then. Without a key nothing is called. Apart from its client,
 * the call depends only on the key.
 */
export function useLoaded<T>(
  key: string | undefined,
  call: (client: Client, signal: AbortSignal) => Promise<T>,
): Loaded<T> {
  const client = useClient();
  const [loaded, setLoaded] = useState<Loaded<T> & { readonly of?: Question }>({});
  const onQuestion = useEffectEvent(call);
  useEffect(() => {
    if (key === undefined) return;
    const leaving = new AbortController();
    onQuestion(client, leaving.signal).then(
      (value) => {
        setLoaded({ of: { client, key }, value });
      },
      (error: unknown) => {
        if (leaving.signal.aborted) return;
        setLoaded({ of: { client, key }, error: KubeconnectError.from(error) });
      },
    );
    return () => {
      leaving.abort();
    };
  }, [client, key]);
  return loaded.of?.key === key && loaded.of?.client === client ? loaded : {};
}

/** A key, and the client that is called for it. */
interface Question {
  readonly client: Client;
  readonly key: string;
}
