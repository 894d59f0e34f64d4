import { useEffect } from "react";

/** A shortcut of all views, for the help. */
export interface Shortcut {
  readonly keys: readonly string[];
  readonly does: string;
}

/** What all views have, and the views in which the other shortcuts work. */
export const shortcuts: readonly { readonly title: string; readonly list: readonly Shortcut[] }[] =
  [
    {
      title: "Everywhere",
      list: [
        { keys: ["Ctrl K", "⌘ K"], does: "Go to a type, a namespace, an object, or do an action" },
        { keys: ["?"], does: "Show this help" },
        { keys: ["g o"], does: "Go to the overview" },
        { keys: ["g p"], does: "Go to pods" },
        { keys: ["g d"], does: "Go to deployments" },
        { keys: ["g s"], does: "Go to services" },
        { keys: ["g n"], does: "Go to nodes" },
        { keys: ["g e"], does: "Go to events" },
        { keys: ["Esc"], does: "Close what is open" },
      ],
    },
    {
      title: "Navigation",
      list: [{ keys: ["↑", "↓"], does: "Move between the types" }],
    },
    {
      title: "Tables",
      list: [
        { keys: ["j", "k"], does: "Move down, up" },
        { keys: ["Home", "End"], does: "Go to the first, the last object" },
        { keys: ["Enter"], does: "Open the object" },
        { keys: ["Space", "x"], does: "Select or deselect the object" },
        { keys: ["Shift J", "Shift K"], does: "Select also the next, the previous object" },
        { keys: ["Esc"], does: "Deselect all" },
        { keys: ["/"], does: "Search" },
      ],
    },
    {
      title: "Logs",
      list: [
        { keys: ["/"], does: "Search" },
        { keys: ["Enter", "Shift Enter"], does: "Go to the next, the previous match" },
        { keys: ["j", "k"], does: "Select the next, the previous line" },
        { keys: ["Space"], does: "Pause or continue" },
        { keys: ["G", "End"], does: "Go to the end" },
        { keys: ["c"], does: "Copy the line" },
      ],
    },
    {
      title: "Terminal",
      list: [
        { keys: ["Ctrl Shift L"], does: "Leave the terminal, which gets all other keys" },
        { keys: ["Enter"], does: "Connect again, when the connection has ended" },
      ],
    },
  ];

/** The resources of the sequences that begin with g; empty for the overview. */
const destinations: Readonly<Record<string, string>> = {
  o: "",
  p: "pods",
  d: "deployments.apps",
  s: "services",
  n: "nodes",
  e: "events",
};

/** How long the second key of a sequence may take. */
const sequenceMs = 1_500;

interface Actions {
  readonly openPalette: () => void;
  readonly openHelp: () => void;
  /** Goes to a resource; to the overview if it is empty. */
  readonly go: (resource: string) => void;
}

/** Listens to the shortcuts of all views. The actions must remain the same functions. */
export function useShortcuts({ openPalette, openHelp, go }: Actions): void {
  useEffect(() => {
    let startedAt = -Infinity;
    const onKeyDown = (event: KeyboardEvent): void => {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        openPalette();
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const isSecond = event.timeStamp - startedAt < sequenceMs;
      const destination = isSecond ? destinations[event.key] : undefined;
      startedAt = event.key === "g" ? event.timeStamp : -Infinity;
      if (destination !== undefined) go(destination);
      if (event.key === "?") openHelp();
    };
    window.addEventListener("keydown", onKeyDown);
    return () => {
      window.removeEventListener("keydown", onKeyDown);
    };
  }, [openPalette, openHelp, go]);
}

/** Whether keys are text: within a field, an editor, or a dialog. */
function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || target.closest("input, textarea, select, dialog") !== null;
}
