import { Code, type KubeconnectError, type KubeObject } from "@kubeconnect/client";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { objectParams } from "../model/resource.js";
import { Age } from "../ui/age.js";
import { Chip } from "../ui/chip.js";
import { Empty, Notice } from "../ui/notice.js";
import { eventRow, groupEvents, type EventGroup, type EventRow } from "./group.js";
import { hasPods, mostPods, useEvents, usePodEvents } from "./useevents.js";
import styles from "./events.module.css";

/** The events about an object, and about its pods if the user wants to see them. */
export function EventsTab({ object }: { readonly object: KubeObject }) {
  const canHavePods = hasPods(object);
  const [withPods, setWithPods] = useState(canHavePods);
  const own = useEvents(object);
  const ofPods = usePodEvents(object, withPods && canHavePods);
  const groups = useMemo(() => {
    const rows = [...own.items, ...(withPods ? ofPods.events.items : [])].map(eventRow);
    return groupEvents(rows);
  }, [own.items, ofPods.events.items, withPods]);
  const error = own.error ?? ofPods.error;
  return (
    <section className={styles.tab} aria-label="Events">
      <div className={styles.bar}>
        <p className={styles.dim} aria-live="polite">
          {own.loaded && summaryOf(groups)}
        </p>
        {canHavePods && (
          <label className={styles.toggle}>
            <input
              type="checkbox"
              checked={withPods}
              onChange={(event) => {
                setWithPods(event.target.checked);
              }}
            />
            Also of its pods
          </label>
        )}
      </div>
      {withPods && ofPods.podCount > mostPods && (
        <p className={styles.dim}>
          Of the pods, those of the newest {mostPods} of {ofPods.podCount.toLocaleString()} are
          read.
        </p>
      )}
      {own.total > own.items.length && (
        <p className={styles.dim}>
          The newest {own.items.length} of {own.total.toLocaleString()} events.
        </p>
      )}
      {own.freshness?.stale && (
        <Notice tone="warn" title="These events may be old">
          <span>The cluster, or the service, is unreachable at present.</span>
        </Notice>
      )}
      {error && <Failure error={error} />}
      {!error && !own.loaded && <Empty>Reading the events…</Empty>}
      {!error && own.loaded && groups.length === 0 && (
        <Empty>
          <p>There are no events.</p>
          <p>The API server keeps events for an hour, unless it is configured otherwise.</p>
        </Empty>
      )}
      {groups.map((group) => (
        <Group key={`${String(group.isWarning)} ${group.reason}`} group={group} own={object} />
      ))}
    </section>
  );
}

function Failure({ error }: { readonly error: KubeconnectError }) {
  if (error.code === Code.PermissionDenied) {
    return (
      <Notice tone="warn" title="You may not read these events">
        <span>{error.message}</span>
      </Notice>
    );
  }
  return (
    <Notice tone="bad" title="The events cannot be read">
      <span>{error.message}</span>
    </Notice>
  );
}

function summaryOf(groups: readonly EventGroup[]): string {
  const warnings = groups.filter(({ isWarning }) => isWarning).length;
  const events = groups.reduce((sum, { events }) => sum + events.length, 0);
  if (events === 0) return "";
  const reasons = warnings === 1 ? "1 reason" : `${warnings} reasons`;
  return `${events} events${warnings > 0 ? `, warnings for ${reasons}` : ", no warnings"}`;
}

/** How many events of a group are shown before the user asks for all of them. */
const shownEvents = 3;

function Group({ group, own }: { readonly group: EventGroup; readonly own: KubeObject }) {
  const { reason, isWarning, count, events } = group;
  const [isOpen, setIsOpen] = useState(false);
  const shown = isOpen ? events : events.slice(0, shownEvents);
  return (
    <article className={styles.group} data-warning={isWarning}>
      <header className={styles.head}>
        <h3>{reason || "No reason"}</h3>
        <Chip tone={isWarning ? "warn" : "neutral"}>{isWarning ? "Warning" : "Normal"}</Chip>
        {count > 1 && <span className={styles.count}>{count.toLocaleString()} times</span>}
      </header>
      <ul className={styles.events}>
        {shown.map((event) => (
          <Event key={event.uid} event={event} own={own} />
        ))}
      </ul>
      {events.length > shownEvents && (
        <button
          type="button"
          className={styles.more}
          aria-expanded={isOpen}
          onClick={() => {
            setIsOpen(!isOpen);
          }}
        >
          {isOpen ? "Show fewer" : `Show ${events.length - shownEvents} more`}
        </button>
      )}
    </article>
  );
}

function Event({ event, own }: { readonly event: EventRow; readonly own: KubeObject }) {
  const { subject, from, count, first, last, message } = event;
  const isOther = subject.name !== own.name || subject.kind !== own.resource.kind;
  return (
    <li className={styles.event}>
      <span className={styles.age}>
        <Age since={last} />
      </span>
      <div className={styles.body}>
        <p className={styles.message}>{message || "no message"}</p>
        <p className={styles.dim}>
          {isOther && <Subject subject={subject} />}
          {from}
          {count > 1 && (
            <>
              {" · "}
              {count.toLocaleString()} times in <Age since={first} />
            </>
          )}
        </p>
      </div>
    </li>
  );
}

function Subject({ subject: { kind, namespace, name } }: Pick<EventRow, "subject">) {
  const text = `${kind} ${name}`;
  if (kind !== "Pod") return <>{text} · </>;
  return (
    <>
      <Link
        to="/o/$resource/$namespace/$name"
        params={objectParams("pods", { namespace, name })}
        search={{ tab: "events" }}
      >
        {text}
      </Link>
      {" · "}
    </>
  );
}
