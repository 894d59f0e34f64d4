import type { PatchOptions } from "@kubeconnect/client";
import type { PodRow } from "./row.js";

/** The desired value of a label; null to remove the label. */
export interface LabelChange {
  readonly key: string;
  readonly value: string | null;
}

/**
 * Returns the patch for a label change. Its UID makes the API server reject the patch if the pod
 * has been replaced by another pod with the same name.
 */
export function labelPatch(row: PodRow, { key, value }: LabelChange): PatchOptions {
  return { type: "merge", body: { metadata: { uid: row.uid, labels: { [key]: value } } } };
}

/** Returns whether a label has the desired value, or the pod is not in the table any more. */
export function isFulfilled(row: PodRow | undefined, uid: string, change: LabelChange): boolean {
  if (row?.uid !== uid) {
    return true;
  }
  const label = row.labels.find(([key]) => key === change.key);
  return (label?.[1] ?? null) === change.value;
}
