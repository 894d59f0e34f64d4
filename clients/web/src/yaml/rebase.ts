import type { KubeValue } from "@kubeconnect/client";
import { parseDocument, type Document } from "yaml";
import { changesOf, isBookkeeping, isEqual, type Change } from "./changes.js";
import { managerOf, type Manager } from "./managers.js";
import { formatPath, isRecord, type Path } from "./path.js";

/** A change that others have made since the editing began. */
export interface OtherChange extends Change {
  readonly manager: Manager | undefined;
  /** The value in the edited text, if it was edited too, and to another value. */
  readonly mine?: { readonly value: unknown } | undefined;
}

/** What has happened to an object while it was edited. */
export interface Divergence {
  /** Others' changes that do not touch the edited fields. */
  readonly others: readonly OtherChange[];
  /** Others' changes of fields that were edited too. */
  readonly conflicts: readonly OtherChange[];
}

/** Returns what others have changed since `base`, and where it conflicts with the edited text. */
export function divergence(base: KubeValue, mine: unknown, live: KubeValue): Divergence {
  const theirs = changesOf(base, live).filter((each) => !isBookkeeping(each));
  const own = changesOf(base, mine).filter((each) => !isBookkeeping(each));
  const others: OtherChange[] = [];
  const conflicts: OtherChange[] = [];
  for (const change of theirs) {
    const manager = managerOf(live, change.path);
    const touched = own.find((each) => overlaps(each.path, change.path));
    const value = valueAt(mine, change.path);
    if (!touched || isEqual(value, change.after)) others.push({ ...change, manager });
    else conflicts.push({ ...change, manager, mine: { value } });
  }
  return { others, conflicts };
}

/** Whether one path leads to the other one, or they are equal. */
function overlaps(a: Path, b: Path): boolean {
  const length = Math.min(a.length, b.length);
  return a.slice(0, length).every((each, index) => each === b[index]);
}

export function valueAt(value: unknown, path: Path): unknown {
  let at = value;
  for (const segment of path) {
    if (Array.isArray(at)) at = (at as unknown[])[Number(segment)];
    else at = isRecord(at) ? at[segment] : undefined;
  }
  return at;
}

/**
 * Returns the edited text with others' changes: all that do not conflict, and of the conflicts those
 * whose path is in `takeTheirs`. Comments and the form of the text remain.
 */
export function rebase(
  text: string,
  { others, conflicts }: Divergence,
  live: KubeValue,
  takeTheirs: ReadonlySet<string> = new Set(),
): string {
  const document = parseDocument(text);
  const taken = conflicts.filter(({ path }) => takeTheirs.has(formatPath(path)));
  for (const { path, after } of [...others, ...taken]) setAt(document, path, after);
  document.setIn(["metadata", "resourceVersion"], live.metadata.resourceVersion);
  return document.toString({ lineWidth: 0 });
}

function setAt(document: Document, path: Path, value: unknown): void {
  if (value === undefined) document.deleteIn(path);
  else document.setIn(path, document.createNode(value));
}
