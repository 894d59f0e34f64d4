import type { KubeObject } from "@kubeconnect/client";

/** An event as the console shows it, from either of the two APIs of events. */
export interface EventRow {
  readonly uid: string;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  /** How often it has happened. */
  readonly count: number;
  /** RFC 3339: the last time; and the first, if the event has happened more than once. */
  readonly last: string;
  readonly first: string;
  /** The component that reports the event. */
  readonly from: string;
  readonly subject: { readonly kind: string; readonly namespace: string; readonly name: string };
}

/** The events with the same reason. */
export interface EventGroup {
  readonly reason: string;
  readonly isWarning: boolean;
  /** How often the events have happened together. */
  readonly count: number;
  /** The last event first. */
  readonly events: readonly EventRow[];
}

interface EventValue {
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  readonly note?: string;
  readonly count?: number;
  readonly firstTimestamp?: string | null;
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
  readonly series?: { readonly count?: number; readonly lastObservedTime?: string };
  readonly reportingComponent?: string;
  readonly source?: { readonly component?: string };
  readonly metadata?: { readonly creationTimestamp?: string };
  readonly involvedObject?: SubjectValue;
}

interface SubjectValue {
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
}

/** The paths of events that the console reads. */
export const eventFields = [
  "type",
  "reason",
  "message",
  "count",
  "firstTimestamp",
  "lastTimestamp",
  "eventTime",
  "series",
  "reportingComponent",
  "source.component",
  "metadata.creationTimestamp",
  "involvedObject.kind",
  "involvedObject.namespace",
  "involvedObject.name",
] as const;

export function eventRow({ uid, value }: Pick<KubeObject<unknown>, "uid" | "value">): EventRow {
  const event = value as EventValue;
  const { type = "", reason = "", message = "", series, involvedObject: subject = {} } = event;
  const created = event.metadata?.creationTimestamp ?? "";
  const first = event.firstTimestamp ?? event.eventTime ?? created;
  return {
    uid,
    type,
    reason,
    message,
    count: series?.count ?? event.count ?? 1,
    last: series?.lastObservedTime ?? event.lastTimestamp ?? event.eventTime ?? created,
    first,
    from: event.reportingComponent || event.source?.component || "",
    subject: {
      kind: subject.kind ?? "",
      namespace: subject.namespace ?? "",
      name: subject.name ?? "",
    },
  };
}

/**
 * Groups events by their reason: warnings first, then the group with the last event first. A reason
 * that is used for warnings and for others makes two groups.
 */
export function groupEvents(rows: readonly EventRow[]): readonly EventGroup[] {
  const byReason = new Map<string, EventRow[]>();
  for (const row of rows) {
    const key = `${row.type === "Warning" ? "!" : ""}${row.reason}`;
    const group = byReason.get(key) ?? [];
    group.push(row);
    byReason.set(key, group);
  }
  return [...byReason.values()].map(groupOf).sort(byImportance);
}

function groupOf(rows: EventRow[]): EventGroup {
  const events = rows.sort((a, b) => timeOf(b) - timeOf(a));
  const [{ reason, type } = { reason: "", type: "" }] = events;
  const count = events.reduce((sum, event) => sum + event.count, 0);
  return { reason, isWarning: type === "Warning", count, events };
}

function byImportance(a: EventGroup, b: EventGroup): number {
  if (a.isWarning !== b.isWarning) return a.isWarning ? -1 : 1;
  return timeOf(b.events[0]) - timeOf(a.events[0]);
}

/** Returns the time of an event; those without one are the oldest. */
function timeOf(event: EventRow | undefined): number {
  return Date.parse(event?.last ?? "") || 0;
}

/** Returns a CEL expression that selects the events about objects with these UIDs. */
export function aboutFilter(uids: readonly string[]): string {
  const list = uids.map((uid) => `'${uid.replace(/[^\w-]/g, "")}'`).join(", ");
  return `object.involvedObject.uid in [${list}]`;
}
