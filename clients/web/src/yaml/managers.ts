import type { KubeValue } from "@kubeconnect/client";
import type { ManagedEntry } from "../model/managed.js";
import { isEqual } from "./changes.js";
import { isRecord, type Path } from "./path.js";

/** A program that has written a field. */
export interface Manager {
  readonly name: string;
  /** RFC 3339; empty if unknown. */
  readonly time: string;
}

/**
 * Returns the manager that has last written a field, or the nearest field around it that has a
 * manager; undefined if no manager is known.
 */
export function managerOf(value: KubeValue, path: Path): Manager | undefined {
  const { managedFields = [] } = value.metadata as { managedFields?: readonly ManagedEntry[] };
  const owners = managedFields
    .map((entry) => ({ entry, depth: ownedDepth(entry.fieldsV1, value, path) }))
    .filter(({ depth }) => depth > 0)
    .sort((a, b) => b.depth - a.depth || later(b.entry, a.entry));
  const [first] = owners;
  if (!first) return undefined;
  const { manager = "unknown", time = "" } = first.entry;
  return { name: manager, time };
}

function later(a: ManagedEntry, b: ManagedEntry): number {
  return (a.time ?? "").localeCompare(b.time ?? "");
}

/** Returns the number of segments of the path that the fields of a manager have. */
function ownedDepth(fields: unknown, value: unknown, path: Path): number {
  let depth = 0;
  let own = fields;
  let at = value;
  for (const segment of path) {
    const next = childFields(own, at, segment);
    if (next === undefined) break;
    own = next;
    at = childValue(at, segment);
    depth++;
  }
  return depth;
}

function childValue(value: unknown, segment: string | number): unknown {
  if (Array.isArray(value)) return (value as unknown[])[Number(segment)];
  return isRecord(value) ? value[segment] : undefined;
}

/** Returns the fields below a segment: "f:name" of an object, 'k:{"name":"web"}' of a list. */
function childFields(fields: unknown, value: unknown, segment: string | number): unknown {
  if (!isRecord(fields)) return undefined;
  if (typeof segment === "string") return fields[`f:${segment}`];
  const item = childValue(value, segment);
  const key = Object.keys(fields).find((each) => isKeyOf(each, item));
  return key === undefined ? undefined : fields[key];
}

function isKeyOf(key: string, item: unknown): boolean {
  const [type, text] = [key.slice(0, 2), key.slice(2)];
  if (type === "v:") return isEqual(JSON.parse(text), item);
  if (type !== "k:" || !isRecord(item)) return false;
  const names = JSON.parse(text) as Record<string, unknown>;
  return Object.entries(names).every(([name, value]) => isEqual(item[name], value));
}
