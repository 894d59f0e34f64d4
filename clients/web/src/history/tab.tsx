import type { KubeObject } from "@kubeconnect/client";
import { useLivePage } from "@kubeconnect/client/react";
import { useEffect, useMemo, useRef, useState } from "react";
import { eventRow } from "../events/group.js";
import { useEvents } from "../events/useevents.js";
import { resourceName } from "../model/resource.js";
import { useManagedFields } from "../session/managedfields.js";
import { Age } from "../ui/age.js";
import { Chip } from "../ui/chip.js";
import { Empty, Notice } from "../ui/notice.js";
import { valueText, type FieldChange } from "./diff.js";
import styles from "./history.module.css";
import {
  eventMoments,
  lifeMoments,
  revisionMoments,
  revisionOf,
  seenMoment,
  timelineOf,
  writeMoments,
  type Moment,
} from "./timeline.js";

/** What is known of an object's past: from its revisions, its fields, its events, and live. */
export function HistoryTab({ object }: { readonly object: KubeObject }) {
  const revisions = useRevisions(object);
  const events = useEvents(object);
  const seen = useSeen(object);
  const managedFields = useManagedFields(object);
  const [hidden, setHidden] = useState<ReadonlySet<Moment["source"]>>(new Set());
  const moments = useMemo(() => {
    return timelineOf(
      seen,
      revisionMoments(revisions.items.map(revisionOf)),
      writeMoments(managedFields),
      eventMoments(events.items.map(eventRow)),
      lifeMoments(object),
    );
  }, [object, managedFields, revisions.items, events.items, seen]);
  const shown = moments.filter(({ source }) => !hidden.has(source));
  const error = revisions.error ?? events.error;
  return (
    <section className={styles.tab} aria-label="History">
      <p className={styles.dim}>
        The service stores no history, and nothing of deleted objects. This is what the cluster
        still shows: revisions, the last write of each manager, recent events, and the changes seen
        live since this tab was opened.
      </p>
      <Sources
        hidden={hidden}
        moments={moments}
        onToggle={(source) => {
          const next = new Set(hidden);
          if (!next.delete(source)) next.add(source);
          setHidden(next);
        }}
      />
      {error && (
        <Notice tone="warn" title="A part of the history cannot be read">
          <span>{error.message}</span>
        </Notice>
      )}
      {shown.length === 0 && <Empty>There is nothing to show.</Empty>}
      <ol className={styles.timeline} aria-label="What has happened, the last first">
        {shown.map((moment) => (
          <MomentItem key={moment.id} moment={moment} />
        ))}
      </ol>
    </section>
  );
}

const revisionResources: Readonly<Record<string, string>> = {
  Deployment: "replicasets.apps",
  StatefulSet: "controllerrevisions.apps",
  DaemonSet: "controllerrevisions.apps",
};

/** The stored templates of a workload. */
function useRevisions({ namespace, name, resource }: KubeObject) {
  return useLivePage(revisionResources[resource.kind] ?? null, {
    namespace,
    related: { type: "ownedBy", resource: resourceName(resource), namespace, name },
    fields: [
      "metadata.creationTimestamp",
      "metadata.annotations",
      "revision",
      "spec.template",
      "data.spec.template",
    ],
    orderBy: "metadata.creationTimestamp desc",
    limit: 50,
  });
}

/** The changes that are kept at most. */
const mostSeen = 200;

/** The changes of an object since the component was mounted. */
function useSeen(object: KubeObject): readonly Moment[] {
  const earlier = useRef(object);
  const [seen, setSeen] = useState<readonly Moment[]>([]);
  useEffect(() => {
    const before = earlier.current;
    earlier.current = object;
    if (before.uid !== object.uid || before.resourceVersion === object.resourceVersion) return;
    const moment = seenMoment(before, object, new Date());
    if (moment) setSeen((moments) => [moment, ...moments].slice(0, mostSeen));
  }, [object]);
  return seen;
}

const names: Readonly<Record<Moment["source"], string>> = {
  seen: "Seen live",
  revision: "Revisions",
  write: "Field managers",
  event: "Events",
  life: "Creation and deletion",
};

function Sources({
  hidden,
  moments,
  onToggle,
}: {
  readonly hidden: ReadonlySet<Moment["source"]>;
  readonly moments: readonly Moment[];
  readonly onToggle: (source: Moment["source"]) => void;
}) {
  return (
    <div className={styles.sources} role="group" aria-label="What to show">
      {(Object.keys(names) as Moment["source"][]).map((source) => (
        <label key={source} className={styles.source}>
          <input
            type="checkbox"
            checked={!hidden.has(source)}
            onChange={() => {
              onToggle(source);
            }}
          />
          {names[source]}
          <span className={styles.count}>
            {moments.filter((moment) => moment.source === source).length}
          </span>
        </label>
      ))}
    </div>
  );
}

const marks = {
  seen: { tone: "info", text: "Live" },
  revision: { tone: "ok", text: "Revision" },
  write: { tone: "neutral", text: "Write" },
  event: { tone: "neutral", text: "Event" },
  life: { tone: "neutral", text: "Life" },
} as const;

function MomentItem({ moment }: { readonly moment: Moment }) {
  const { source, time, title, by, isWarning, changes, paths } = moment;
  const { tone, text } = marks[source];
  return (
    <li className={styles.moment}>
      <span className={styles.age}>
        <Age since={time} />
      </span>
      <div className={styles.body}>
        <p className={styles.title}>
          <Chip tone={isWarning ? "warn" : tone}>{isWarning ? "Warning" : text}</Chip> {title}
          {by && <span className={styles.dim}> · {by}</span>}
        </p>
        {changes && changes.length > 0 && (
          <details open={source === "seen"}>
            <summary>What has changed</summary>
            <Changes changes={changes} />
          </details>
        )}
        {paths && paths.length > 0 && (
          <details>
            <summary>Which fields</summary>
            <ul className={styles.paths}>
              {paths.map((path) => (
                <li key={path}>
                  <code>{path}</code>
                </li>
              ))}
            </ul>
          </details>
        )}
      </div>
    </li>
  );
}

/** A diff by field, with the earlier value above the later one. */
function Changes({ changes }: { readonly changes: readonly FieldChange[] }) {
  return (
    <dl className={styles.changes}>
      {changes.map(({ path, before, after }) => (
        <div key={path}>
          <dt>
            <code>{path}</code>
          </dt>
          {before !== undefined && (
            <dd>
              <del className={styles.before}>{valueText(before)}</del>
            </dd>
          )}
          {after !== undefined && (
            <dd>
              <ins className={styles.after}>{valueText(after)}</ins>
            </dd>
          )}
        </div>
      ))}
    </dl>
  );
}
