import type { KubeObject } from "@kubeconnect/client";

/** The fields of events, of both APIs. */
export interface EventFields {
  readonly reason?: string;
  readonly message?: string;
  readonly count?: number;
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
  readonly metadata?: { readonly creationTimestamp?: string };
  readonly series?: { readonly count?: number; readonly lastObservedTime?: string };
  readonly involvedObject?: {
    readonly apiVersion?: string;
    readonly kind?: string;
    readonly namespace?: string;
    readonly name?: string;
  };
}

/** Warnings with the same reason about objects of the same kind. */
export interface WarningGroup {
  readonly reason: string;
  readonly kind: string;
  /** How often it was reported. */
  readonly count: number;
  /** The number of different objects. */
  readonly objects: number;
  /** The last one. */
  readonly at: string;
  readonly message: string;
  readonly last: NonNullable<EventFields["involvedObject"]>;
}

/** The fields to read of events. */
export const eventFields = [
  "reason",
  "message",
  "count",
  "lastTimestamp",
  "eventTime",
  "metadata.creationTimestamp",
  "series.count",
  "series.lastObservedTime",
  "involvedObject",
];

/** A CEL expression that selects events without the time of the older API. */
export const withoutLastTimestamp = "!has(object.lastTimestamp) || object.lastTimestamp == null";

/** Returns the warnings by reason and kind, the latest first. */
export function groupWarnings(
  events: readonly Pick<KubeObject<EventFields>, "value">[],
): readonly WarningGroup[] {
  const groups = new Map<string, { names: Set<string>; group: WarningGroup }>();
  for (const { value } of events) {
    const { reason = "Unknown", message = "", involvedObject: last = {} } = value;
    const { kind = "Object", namespace = "", name = "" } = last;
    const key = `${reason} ${kind}`;
    const { names = new Set<string>(), group: earlier } = groups.get(key) ?? {};
    names.add(`${namespace}/${name}`);
    const count = (earlier?.count ?? 0) + countOf(value);
    const at = timeOf(value);
    const isLatest = !earlier || Date.parse(at) > Date.parse(earlier.at);
    const group = isLatest ? { reason, kind, at, message, last } : earlier;
    groups.set(key, { names, group: { ...group, count, objects: names.size } });
  }
  return [...groups.values()]
    .map(({ group }) => group)
    .sort((a, b) => Date.parse(b.at) - Date.parse(a.at));
}

function countOf({ count, series }: EventFields): number {
  return series?.count ?? count ?? 1;
}

function timeOf({ series, lastTimestamp, eventTime, metadata }: EventFields): string {
  return (
    series?.lastObservedTime || lastTimestamp || eventTime || metadata?.creationTimestamp || ""
  );
}
