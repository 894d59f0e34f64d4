import type { KubeObject } from "@kubeconnect/client";

/** Placeholder of the tab, which is being written. */
export function HistoryTab(_props: { readonly object: KubeObject }) {
  return null;
}
