import { Code, type KubeconnectError } from "@kubeconnect/client";
import { useState } from "react";

interface Filtered {
  readonly loaded: boolean;
  readonly previous: boolean;
  readonly error: KubeconnectError | undefined;
}

/**
 * Returns the filter to read a table with: the one of the address, or, while the service rejects
 * that, the last one that it has accepted, so that the table remains. `observe` must be called with
 * the table that was read.
 */
export function useAcceptedFilter(filter: string | undefined) {
  const [accepted, setAccepted] = useState<{ readonly filter: string | undefined }>();
  const [rejected, setRejected] = useState<{
    readonly filter: string;
    readonly error: KubeconnectError;
  }>();
  const error = rejected?.filter === filter ? rejected?.error : undefined;
  const applied = error && accepted ? accepted.filter : filter;
  const observe = ({ loaded, previous, error: failure }: Filtered): void => {
    const isAccepted = loaded && !previous && !failure;
    if (isAccepted && (!accepted || accepted.filter !== applied)) setAccepted({ filter: applied });
    if (error || failure?.code !== Code.InvalidArgument || filter === undefined) return;
    setRejected({ filter, error: failure });
  };
  return { applied, error, observe };
}
