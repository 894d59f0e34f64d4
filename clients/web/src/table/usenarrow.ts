import { useSyncExternalStore } from "react";

const narrow = window.matchMedia("(max-width: 800px)");

/** Reports whether the screen is small, as the style sheets define it. */
export function useIsNarrow(): boolean {
  return useSyncExternalStore(
    (listener) => {
      narrow.addEventListener("change", listener);
      return () => {
        narrow.removeEventListener("change", listener);
      };
    },
    () => narrow.matches,
  );
}
