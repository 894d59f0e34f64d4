import { useSession } from "../session/session.js";
import { useStored } from "../ui/stored.js";
import type { Entry } from "./entries.js";

const limit = 6;
const nothing: readonly string[] = [];

/**
 * The addresses that the user has chosen last, as entries, and a function that adds one. Another user of
 * the same browser has other ones, because they have names of objects.
 */
export function useRecent(): readonly [readonly Entry[], (entry: Entry) => void] {
  const { username } = useSession().identity;
  const [stored, setStored] = useStored(`kubeconnect.recent.${username}`, nothing);
  const add = (entry: Entry): void => {
    const text = recentText(entry);
    if (text === undefined) return;
    setStored([text, ...stored.filter((each) => each !== text)].slice(0, limit));
  };
  return [stored.flatMap((text) => recentEntry(text) ?? []), add];
}

/** Returns an entry as a text to keep; undefined for an action. */
export function recentText({ does, label, hint }: Entry): string | undefined {
  return "href" in does ? JSON.stringify([does.href, label, hint]) : undefined;
}

/** Returns the entry of a text; undefined if it does not lead to a view of this page. */
export function recentEntry(text: string): Entry | undefined {
  let parts: unknown;
  try {
    parts = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!Array.isArray(parts) || !parts.every((part) => typeof part === "string")) return undefined;
  const [href = "", label = "", hint = ""] = parts;
  if (!/^\/(?!\/)/.test(href)) return undefined;
  return { id: `recent ${href}`, label, hint, texts: [label], does: { href } };
}
