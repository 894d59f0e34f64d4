import { useCallback, useEffect, useRef, useState } from "react";
import type { KubeValue } from "../object.js";
import { overlaysOf, type AddedOverlay, type Optimistic, type Overlays } from "./overlays.js";
import { useClient } from "./provider.js";

/** Options of useMutation. */
export interface UseMutationOptions<V, T = KubeValue> {
  /**
   * Returns the change to show at once, or undefined for none. All useResource, useList and
   * useLivePage of the client show it over the object, from the call on, until
   *
   * - the write fails: the live object is shown again;
   * - the write has returned a version, and the live object of the view has that version or a newer
   *   one. A newer one may have changes by others: from then on the live object is shown as it is.
   *   Versions that are not numbers cannot be compared: such a version is reached when it is equal;
   * - the write has returned no version;
   * - ten seconds have passed since the write has returned, because the stream is lost, or the view
   *   has `fields` that the change does not touch, and is not sent the new version.
   *
   * If the live object changes before the version is reached, the change is applied to the new
   * state. The version is the `resourceVersion` of the result of the mutation, or of its `object`:
   * return the result of `client.patch`, `update` or `delete`.
   */
  readonly optimistic?: ((variables: V) => Optimistic<T> | undefined) | undefined;
}

/** The state of the last mutation of a component. */
interface MutationState<R> {
  /** Whether a mutation has not returned yet. */
  readonly pending: boolean;
  /** The error of the last mutation; undefined if it has succeeded or has not returned. */
  readonly error: Error | undefined;
  /** The result of the last mutation; undefined if it has failed or has not returned. */
  readonly result: R | undefined;
}

/** What useMutation returns. */
export interface Mutation<V, R> extends MutationState<R> {
  /** Calls the function. The result is in `result`, an error in `error`. */
  readonly mutate: (variables: V) => void;
  /** Calls the function, and returns its promise. An error is also in `error`. */
  readonly mutateAsync: (variables: V) => Promise<R>;
  /** Forgets `error` and `result`. A mutation that has not returned continues without a trace. */
  readonly reset: () => void;
}

/**
 * Returns a mutation: a function that writes, with its state. Of several calls, the state is that of
 * the last one. The functions are the same in each render.
 */
export function useMutation<V = void, R = unknown, T = KubeValue>(
  fn: (variables: V) => Promise<R>,
  { optimistic }: UseMutationOptions<V, T> = {},
): Mutation<V, R> {
  const overlays = overlaysOf(useClient());
  const [state, setState] = useState<MutationState<R>>(idle);
  const latest = useRef({ fn, optimistic });
  useEffect(() => {
    latest.current = { fn, optimistic };
  });
  const last = useRef<symbol>(undefined);

  const mutateAsync = useCallback(
    (variables: V): Promise<R> => {
      const call = (last.current = Symbol("call"));
      const show = (state: MutationState<R>): void => {
        if (last.current === call) setState(state);
      };
      const { fn, optimistic } = latest.current;
      const write = showWhileWriting(
        overlays,
        () => optimistic?.(variables),
        () => fn(variables),
      );
      show({ ...idle, pending: true });
      write.then(
        (result) => {
          show({ ...idle, result });
        },
        (error: unknown) => {
          show({ ...idle, error: error instanceof Error ? error : new Error(String(error)) });
        },
      );
      return write;
    },
    [overlays],
  );
  const mutate = useCallback(
    (variables: V): void => void mutateAsync(variables).catch(() => undefined),
    [mutateAsync],
  );
  const reset = useCallback((): void => {
    last.current = undefined;
    setState(idle);
  }, []);
  return { ...state, mutate, mutateAsync, reset };
}

const idle = { pending: false, error: undefined, result: undefined };

/**
 * Writes, and shows the change meanwhile, by the rule of UseMutationOptions. Rejects without writing
 * if `optimistic` throws.
 */
async function showWhileWriting<R, T>(
  overlays: Overlays,
  optimistic: () => Optimistic<T> | undefined,
  write: () => Promise<R>,
): Promise<R> {
  const shown = optimistic();
  const overlay: AddedOverlay | undefined = shown && overlays.add(shown);
  try {
    const result = await write();
    overlay?.written(writtenVersion(result));
    return result;
  } catch (error) {
    overlay?.drop();
    throw error;
  }
}

/** Returns the version of a write's result; empty if it has none. */
function writtenVersion(result: unknown): string {
  const { object, resourceVersion } = (result ?? {}) as {
    object?: { resourceVersion?: unknown };
    resourceVersion?: unknown;
  };
  const version = object?.resourceVersion ?? resourceVersion;
  return typeof version === "string" ? version : "";
}
