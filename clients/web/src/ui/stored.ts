import { useCallback, useSyncExternalStore } from "react";

const listeners = new Set<() => void>();
const parsed = new Map<string, { readonly text: string; readonly value: readonly string[] }>();

/** Returns a list of texts that the browser keeps; `initial` if there is none. */
function read(key: string, initial: readonly string[]): readonly string[] {
  const text = localStorage.getItem(key);
  if (text === null) return initial;
  const known = parsed.get(key);
  if (known?.text === text) return known.value;
  const value = parse(text) ?? initial;
  parsed.set(key, { text, value });
  return value;
}

function parse(text: string): readonly string[] | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isList = Array.isArray(value) && value.every((each) => typeof each === "string");
    return isList ? value : undefined;
  } catch {
    return undefined;
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  window.addEventListener("storage", listener);
  return () => {
    listeners.delete(listener);
    window.removeEventListener("storage", listener);
  };
}

/** A list of texts in the browser's storage, which all tabs share. `initial` must be a constant. */
export function useStored(
  key: string,
  initial: readonly string[],
): readonly [readonly string[], (value: readonly string[]) => void] {
  const value = useSyncExternalStore(subscribe, () => read(key, initial));
  const set = useCallback(
    (next: readonly string[]) => {
      localStorage.setItem(key, JSON.stringify(next));
      for (const listener of listeners) listener();
    },
    [key],
  );
  return [value, set];
}

/** Returns the list with the value, or without it if it was in the list. */
export function toggled(list: readonly string[], value: string): readonly string[] {
  return list.includes(value) ? list.filter((each) => each !== value) : [...list, value];
}
