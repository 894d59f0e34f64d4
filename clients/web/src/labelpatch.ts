import type { Patch } from "@kubeconnect/client";
import type { PodRow } from "./row.js";

/** A label as somebody wants it to be; null: not there. */
export interface LabelWish {
  readonly key: string;
  readonly value: string | null;
}

/**
 * The patch that makes a wish come true. The UID in it makes the API server
 * refuse if another pod has taken the name in the meantime.
 */
export function labelPatch(row: PodRow, { key, value }: LabelWish): Patch {
  return { type: "merge", body: { metadata: { uid: row.uid, labels: { [key]: value } } } };
}

/** Whether the wish has come true. A pod that has left the table cannot show more. */
export function isFulfilled(row: PodRow | undefined, uid: string, wish: LabelWish): boolean {
  if (row?.uid !== uid) {
    return true;
  }
  const label = row.labels.find(([key]) => key === wish.key);
  return (label?.[1] ?? null) === wish.value;
}
