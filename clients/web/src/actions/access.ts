import { KubeconnectError, type AccessCheck, type AccessDecision } from "@kubeconnect/client";
import { useClient } from "@kubeconnect/client/react";
import { useEffect, useState } from "react";

/** The decisions of checks; neither while they are read. */
export interface Access {
  readonly decisions?: readonly AccessDecision[];
  readonly error?: KubeconnectError;
}

/** Checks permissions of the caller, in one call. The checks are compared by value. */
export function useAccess(checks: readonly AccessCheck[]): Access {
  const client = useClient();
  const key = JSON.stringify(checks);
  const [state, setState] = useState<Access & { key?: string }>({});
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    client.checkAccess(JSON.parse(key) as AccessCheck[], { signal }).then(
      (decisions) => {
        setState({ key, decisions });
      },
      (error: unknown) => {
        if (!signal.aborted) setState({ key, error: KubeconnectError.from(error) });
      },
    );
    return () => {
      leaving.abort();
    };
  }, [client, key]);
  return state.key === key ? state : {};
}
