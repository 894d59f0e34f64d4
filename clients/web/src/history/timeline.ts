import type { KubeObject } from "@kubeconnect/client";
import type { EventRow } from "../events/group.js";
import { pathsOf, type ManagedEntry } from "../model/managed.js";
import { changesBetween, type FieldChange } from "./diff.js";

/** Something that has happened to an object, as far as the cluster still shows it. */
export interface Moment {
  readonly id: string;
  readonly source: "revision" | "write" | "event" | "seen" | "life";
  /** RFC 3339. */
  readonly time: string;
  readonly title: string;
  /** Who has done it, if that is known. */
  readonly by?: string;
  readonly isWarning?: boolean;
  /** What has changed; undefined if that is not known. */
  readonly changes?: readonly FieldChange[];
  /** The fields that were last written then. */
  readonly paths?: readonly string[];
}

/** A stored template of a workload. */
export interface Revision {
  readonly number: number;
  readonly name: string;
  readonly time: string;
  readonly cause: string | undefined;
  readonly template: unknown;
}

interface RevisionValue {
  readonly metadata: {
    readonly creationTimestamp?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly revision?: number;
  readonly spec?: { readonly template?: unknown };
  readonly data?: { readonly spec?: { readonly template?: unknown } };
}

/** Returns the revision that a replica set or a controller revision stores. */
export function revisionOf({ name, value }: Pick<KubeObject<unknown>, "name" | "value">): Revision {
  const { metadata, revision, spec, data } = value as RevisionValue;
  const annotations = metadata.annotations ?? {};
  return {
    name,
    number: revision ?? Number(annotations["deployment.kubernetes.io/revision"] ?? 0),
    time: metadata.creationTimestamp ?? "",
    cause: annotations["kubernetes.io/change-cause"],
    template: spec?.template ?? data?.spec?.template,
  };
}

/** Returns the moments of revisions, each with the differences to the one before it. */
export function revisionMoments(revisions: readonly Revision[]): readonly Moment[] {
  const sorted = revisions.toSorted((a, b) => a.number - b.number);
  return sorted.map(({ number, name, time, cause, template }, index) => {
    const earlier = sorted[index - 1];
    return {
      id: `revision ${name}`,
      source: "revision",
      time,
      title: `Revision ${number}${index === sorted.length - 1 ? " (current)" : ""}: ${cause ?? name}`,
      ...(earlier && { changes: changesBetween(earlier.template, template) }),
    };
  });
}

/** Returns the moments of the last writes of each manager of fields. */
export function writeMoments(entries: readonly ManagedEntry[]): readonly Moment[] {
  return entries.flatMap((entry, index): Moment[] => {
    const { manager = "an unknown manager", operation, subresource, time } = entry;
    if (!time) return [];
    const paths = pathsOf(entry.fieldsV1);
    const part = subresource ? ` of ${subresource}` : "";
    const title = `${operation === "Apply" ? "Applied" : "Wrote"} ${fieldCount(paths.length)}${part}`;
    return [{ id: `write ${index} ${manager}`, source: "write", time, title, by: manager, paths }];
  });
}

function fieldCount(count: number): string {
  return `${count} ${count === 1 ? "field" : "fields"}`;
}

export function eventMoments(rows: readonly EventRow[]): readonly Moment[] {
  return rows.map(({ uid, last, reason, message, from, type, count }) => ({
    id: `event ${uid}`,
    source: "event",
    time: last,
    title: `${reason}${count > 1 ? ` (${count} times)` : ""}: ${message}`,
    by: from,
    isWarning: type === "Warning",
  }));
}

interface LifeValue {
  readonly metadata: {
    readonly creationTimestamp?: string;
    readonly deletionTimestamp?: string;
    readonly managedFields?: readonly ManagedEntry[];
  };
}

/** Returns when an object was created, and when its deletion began. */
export function lifeMoments({ value }: Pick<KubeObject<unknown>, "value">): readonly Moment[] {
  const { creationTimestamp, deletionTimestamp } = (value as LifeValue).metadata;
  return [
    ...(creationTimestamp
      ? [{ id: "created", source: "life" as const, time: creationTimestamp, title: "Created" }]
      : []),
    ...(deletionTimestamp
      ? [
          {
            id: "deleting",
            source: "life" as const,
            time: deletionTimestamp,
            title: "Deletion is due",
          },
        ]
      : []),
  ];
}

/** Returns the moment of a change that was seen live; undefined if nothing of interest changed. */
export function seenMoment(
  before: Pick<KubeObject<unknown>, "value" | "resourceVersion">,
  after: Pick<KubeObject<unknown>, "value" | "resourceVersion">,
  now: Date,
): Moment | undefined {
  const changes = changesBetween(before.value, after.value);
  if (changes.length === 0) return undefined;
  const by = lastManager(after.value as LifeValue);
  return {
    id: `seen ${after.resourceVersion}`,
    source: "seen",
    time: now.toISOString(),
    title: `${fieldCount(changes.length)} changed`,
    ...(by && { by }),
    changes,
  };
}

/** Returns the manager of the newest write. */
function lastManager({ metadata: { managedFields = [] } }: LifeValue): string | undefined {
  const sorted = managedFields.toSorted((a, b) => timeOf(b.time) - timeOf(a.time));
  return sorted[0]?.manager;
}

/** Returns all moments, the last one first. */
export function timelineOf(...moments: readonly (readonly Moment[])[]): readonly Moment[] {
  return moments.flat().sort((a, b) => timeOf(b.time) - timeOf(a.time));
}

function timeOf(time: string | undefined): number {
  return Date.parse(time ?? "") || 0;
}
