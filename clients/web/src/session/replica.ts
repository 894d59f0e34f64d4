import type { Interceptor } from "@connectrpc/connect";
import { useEffect, useState } from "react";

/** The header of the service's responses that names the process which has served them. */
const header = "Kubeconnect-Replica";

/** The replica of the service that has served the last opened stream. */
export class Replica {
  #name: string | undefined;
  readonly #listeners = new Set<() => void>();

  /** The name of the replica; undefined until a stream is open. Needs no `this`. */
  readonly name = (): string | undefined => this.#name;

  /** Calls the listener after each change of `name`. Needs no `this`. */
  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  /** Reads the name from the responses of streams. */
  readonly observe: Interceptor = (next) => async (request) => {
    const response = await next(request);
    if (response.stream) this.#set(response.header.get(header));
    return response;
  };

  #set(name: string | null): void {
    if (name === null || name === this.#name) return;
    this.#name = name;
    for (const listener of [...this.#listeners]) listener();
  }
}

/** How long a change of the replica is shown. */
const shownMs = 10_000;

/**
 * Returns the replica that has served until the connection was lost, for some seconds after another
 * one has begun to serve. Streams that are opened while the page is live may be served by any
 * replica; such a change is not shown.
 */
export function usePreviousReplica(
  replica: string | undefined,
  isLive: boolean,
): string | undefined {
  const [state, setState] = useState<Served>({ isLive: false });
  const { previous } = state;
  if (isLive && !(state.isLive && state.replica === replica)) {
    const isMoved = !state.isLive && state.replica !== undefined && state.replica !== replica;
    setState({ isLive, replica, previous: isMoved ? state.replica : previous });
  } else if (!isLive && state.isLive) setState({ isLive, replica: state.replica });
  useEffect(() => {
    if (previous === undefined) return;
    const timer = setTimeout(() => {
      setState((served) => ({ ...served, previous: undefined }));
    }, shownMs);
    return () => {
      clearTimeout(timer);
    };
  }, [previous]);
  return previous;
}

interface Served {
  readonly isLive: boolean;
  /** The last replica that has served while the page was live. */
  readonly replica?: string | undefined;
  readonly previous?: string | undefined;
}
