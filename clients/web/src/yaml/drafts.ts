import type { Client } from "@kubeconnect/client";
import type { Draft } from "./submit.js";

/**
 * Edited texts outlive the component, so that another tab or page loses nothing. They are in memory
 * only, because they may have secrets, and belong to a client, because the next user may not read them.
 */
let drafts: { readonly client?: Client; readonly byUid: Map<string, Draft> } = { byUid: new Map() };

window.addEventListener("beforeunload", (event) => {
  if (drafts.byUid.size > 0) event.preventDefault();
});

/** Returns the text that a user has edited and not stored. */
export function draftOf(client: Client, uid: string): Draft | undefined {
  return draftsOf(client).get(uid);
}

/** Keeps an edited text; undefined forgets it. */
export function keepDraft(client: Client, uid: string, draft: Draft | undefined): void {
  if (draft) draftsOf(client).set(uid, draft);
  else draftsOf(client).delete(uid);
}

/** Returns the drafts of a client, and forgets those of an earlier one. */
function draftsOf(client: Client): Map<string, Draft> {
  if (drafts.client !== client) drafts = { client, byUid: new Map() };
  return drafts.byUid;
}
