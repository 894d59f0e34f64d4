import type { KubeValue } from "@kubeconnect/client";
import { parseDocument } from "yaml";
import { changesOf, isBookkeeping, type Change } from "./changes.js";
import { rangeOfPath } from "./document.js";
import { managerOf } from "./managers.js";
import type { Mark } from "./marks.js";

/** Returns what has changed since an object was opened. */
export function changesSince(opened: KubeValue, value: KubeValue): readonly Change[] {
  return changesOf(opened, value).filter((each) => !isBookkeeping(each));
}

/** Returns where the changes are in the text of an object, and who has made them. */
export function marksOf(
  text: string,
  value: KubeValue,
  changes: readonly Change[],
): readonly Mark[] {
  if (changes.length === 0) return [];
  const document = parseDocument(text);
  return changes.map(({ path, after }) => {
    const manager = managerOf(value, path);
    const verb = after === undefined ? "removed" : "changed";
    const time = manager?.time ? ` at ${new Date(manager.time).toLocaleTimeString()}` : "";
    const by = manager ? ` by ${manager.name}${time}` : "";
    const what = after === undefined ? `${String(path.at(-1))} ` : "";
    return { at: rangeOfPath(document, path).from, text: `← ${what}${verb}${by}` };
  });
}
