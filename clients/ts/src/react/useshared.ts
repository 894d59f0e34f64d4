import { useEffect, useRef, useSyncExternalStore } from "react";
import type { Client } from "../client.js";
import type { LiveStore, LiveStoreOptions } from "../livestore.js";
import { stableKey } from "./key.js";
import { useKubeconnect } from "./provider.js";
import { storesOf, type SharedStore, type SnapshotOf } from "./shared.js";
import { suspendUntilLoaded } from "./suspense.js";
import { followNothing } from "./uselivestore.js";
import { notLoaded, type LiveView } from "./view.js";

/** Options of all hooks that read live data. */
export interface LiveHookOptions {
  /**
   * Suspends the component until the first snapshot, and throws errors for an error boundary. An
   * error boundary that is reset a second later, or after that, asks the service again. On a server
   * the fallback of the Suspense boundary is sent. Default: false, which returns `loaded` and
   * `error`.
   */
  readonly suspense?: boolean | undefined;
  /**
   * Shows the earlier data, with `previous`, from a change of the options until the new data has
   * arrived, as `placeholderData: keepPreviousData` of TanStack Query does. Default: false, as there.
   */
  readonly keepPrevious?: boolean | undefined;
}

/**
 * The options of a store that can be compared by value. The others are functions and signals:
 * create a store with them outside of the component, and pass it to useLiveStore.
 */
export type HookOptionsOf<O> = LiveHookOptions &
  Omit<O, Exclude<keyof LiveStoreOptions, "headers" | "reconnect"> | "indexes">;

/** What a component asks: a kind of store with its resource and options. */
export interface Question {
  readonly kind: string;
  readonly resource: string;
  readonly options: object;
}

/** The live answer to a question. */
export interface SharedView<L> extends LiveView<SnapshotOf<L>> {
  /** Undefined without a question. */
  readonly store: L | undefined;
  /** Whether the snapshot is the one of the earlier options: see `keepPrevious`. */
  readonly previous: boolean;
}

/** Follows the store of a question, which all components with that question share. */
export function useShared<L extends LiveStore<object>>(
  question: Question | undefined,
  create: (client: Client) => L,
  { suspense = false, keepPrevious = false }: LiveHookOptions,
): SharedView<L> {
  const { client, lingerMs } = useKubeconnect();
  const shared =
    question && storesOf(client).get(stableKey(question), lingerMs, () => create(client));
  const view = useView(shared);
  const previous = usePrevious(client, view, keepPrevious && shared !== undefined);
  if (previous) return { ...view, ...previous, store: shared?.store, previous: true };
  if (suspense && shared) suspendUntilLoaded(shared, view);
  return { ...view, store: shared?.store, previous: false };
}

function useView<L extends LiveStore<object>>(
  shared: SharedStore<L> | undefined,
): LiveView<SnapshotOf<L>> {
  return useSyncExternalStore(
    shared?.subscribe ?? followNothing,
    shared?.getView ?? getNotLoaded,
    getNotLoaded,
  );
}

function getNotLoaded(): LiveView<never> {
  return notLoaded;
}

/**
 * Returns the last snapshot that was shown, if it is wanted and there is no newer one. That of another
 * client is not shown: it may be what another user was allowed to read.
 */
function usePrevious<S>(
  client: Client,
  { snapshot, error }: LiveView<S>,
  isWanted: boolean,
): Pick<LiveView<S>, "snapshot" | "loaded"> | undefined {
  const shown = useRef<{ readonly client: Client; readonly snapshot: S }>(undefined);
  useEffect(() => {
    if (snapshot !== undefined) shown.current = { client, snapshot };
    else if (!isWanted) shown.current = undefined;
  }, [client, snapshot, isWanted]);
  const last = shown.current;
  if (!isWanted || snapshot !== undefined || error || last?.client !== client) return undefined;
  return { snapshot: last.snapshot, loaded: true };
}
