import { formatAge } from "@kubeconnect/client/helpers";
import { useSyncExternalStore } from "react";

/** The time, which all ages on the page share. It advances once a second while the page is visible. */
const clock = (() => {
  let now = Date.now();
  let timer: ReturnType<typeof setInterval> | undefined;
  const listeners = new Set<() => void>();
  const tick = () => {
    if (document.hidden) return;
    now = Date.now();
    for (const listener of listeners) listener();
  };
  return {
    now: () => now,
    subscribe: (listener: () => void) => {
      listeners.add(listener);
      timer ??= setInterval(tick, 1000);
      return () => {
        listeners.delete(listener);
        if (listeners.size > 0) return;
        clearInterval(timer);
        timer = undefined;
      };
    },
  };
})();

/** The present time in milliseconds, in steps of a second. */
export const useNow = (): number => useSyncExternalStore(clock.subscribe, clock.now);

/** The age of something that has a time in RFC 3339; the time itself is the tooltip. */
export function Age({ since }: { readonly since: string | undefined }) {
  const text = useSyncExternalStore(clock.subscribe, () =>
    // The clock of the cluster may be ahead.
    since ? formatAge(Math.max(0, clock.now() - Date.parse(since))) : "",
  );
  if (!since) return null;
  return (
    <time dateTime={since} title={new Date(since).toLocaleString()}>
      {text}
    </time>
  );
}
