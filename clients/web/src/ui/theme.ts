import { useSyncExternalStore } from "react";

/** The theme that the user has chosen; "auto" is that of the system. */
export type Theme = "auto" | "light" | "dark";

const key = "kubeconnect.theme";
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();

function stored(): Theme {
  const value = localStorage.getItem(key);
  return value === "light" || value === "dark" ? value : "auto";
}

function show(): void {
  const theme = stored();
  const isDark = theme === "auto" ? dark.matches : theme === "dark";
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
  for (const listener of listeners) listener();
}

/** Shows the chosen theme, now and after each change of the system's. */
export function startTheme(): void {
  dark.addEventListener("change", show);
  show();
}

export function setTheme(theme: Theme): void {
  if (theme === "auto") localStorage.removeItem(key);
  else localStorage.setItem(key, theme);
  show();
}

export function useTheme(): Theme {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, stored);
}
