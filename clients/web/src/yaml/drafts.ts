import type { Draft } from "./submit.js";

// Edited texts outlive the component, so that another tab or page loses nothing. They are in
// memory only, because they may have secrets.
const drafts = new Map<string, Draft>();

window.addEventListener("beforeunload", (event) => {
  if (drafts.size > 0) event.preventDefault();
});

/** Returns the text that a user has edited and not stored. */
export function draftOf(uid: string): Draft | undefined {
  return drafts.get(uid);
}

/** Keeps an edited text; undefined forgets it. */
export function keepDraft(uid: string, draft: Draft | undefined): void {
  if (draft) drafts.set(uid, draft);
  else drafts.delete(uid);
}
