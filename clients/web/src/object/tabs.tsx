import type { KubeObject } from "@kubeconnect/client";
import { getRouteApi, Link } from "@tanstack/react-router";
import { lazy, Suspense, useId, useRef, type KeyboardEvent } from "react";
import { objectTabs, type ObjectTab } from "../model/addresses.js";
import { resourceName } from "../model/resource.js";
import { useMayExec } from "../session/terminals.js";
import type { Related, Summary } from "../model/summary/types.js";
import styles from "./object.module.css";
import { SummaryTab } from "./summarytab.js";

const YamlTab = lazy(async () => ({ default: (await import("../yaml/tab.js")).YamlTab }));
const EventsTab = lazy(async () => ({ default: (await import("../events/tab.js")).EventsTab }));
const LogsTab = lazy(async () => ({ default: (await import("../logs/tab.js")).PodLogsTab }));
const TerminalTab = lazy(async () => ({
  default: (await import("../terminal/tab.js")).TerminalTab,
}));
const RelationsTab = lazy(async () => ({
  default: (await import("../relations/tab.js")).RelationsTab,
}));
const HistoryTab = lazy(async () => ({ default: (await import("../history/tab.js")).HistoryTab }));

const route = getRouteApi("/o/$resource/$namespace/$name");

const labels: Record<ObjectTab, string> = {
  summary: "Summary",
  yaml: "YAML",
  events: "Events",
  logs: "Logs",
  terminal: "Terminal",
  relations: "Relations",
  history: "History",
};

const withLogs = new Set([
  "pods",
  "deployments.apps",
  "statefulsets.apps",
  "daemonsets.apps",
  "replicasets.apps",
  "jobs.batch",
  "cronjobs.batch",
  "replicationcontrollers",
]);

interface Props {
  readonly object: KubeObject;
  readonly summary: Summary;
  readonly related: Related;
  readonly isDeleted: boolean;
}

function nameOf({ namespace, name }: KubeObject): { namespace: string; name: string } {
  return { namespace, name };
}

/** The parts of the page. Each has an address. */
export function Tabs(props: Props) {
  const { tab = "summary" } = route.useSearch();
  const { object, isDeleted } = props;
  const resource = resourceName(object.resource);
  const mayExec = useMayExec(resource === "pods" ? nameOf(object) : undefined);
  // A terminal remains until its pod is deleted: it says itself that its connection has ended.
  const hidden: Partial<Record<ObjectTab, boolean>> = {
    logs: !withLogs.has(resource),
    terminal: !mayExec || (isDeleted && tab !== "terminal"),
  };
  const tabs = objectTabs.filter((each) => hidden[each] !== true);
  const shown = tabs.includes(tab) ? tab : "summary";
  const id = useId();
  return (
    <>
      <TabList tabs={tabs} shown={shown} id={id} />
      <div
        role="tabpanel"
        id={`${id}-panel`}
        aria-labelledby={`${id}-${shown}`}
        className={styles.panel}
        data-tab={shown}
      >
        <Suspense fallback={<p className={styles.loading}>Loading…</p>}>
          <Panel tab={shown} {...props} />
        </Suspense>
      </div>
    </>
  );
}

function Panel({ tab, object, summary, related, isDeleted }: Props & { readonly tab: ObjectTab }) {
  switch (tab) {
    case "summary":
      return <SummaryTab object={object} summary={summary} related={related} />;
    case "yaml":
      return <YamlTab object={object} isDeleted={isDeleted} />;
    case "events":
      return <EventsTab object={object} />;
    case "logs":
      return <LogsTab object={object} />;
    case "terminal":
      return <TerminalTab key={object.uid} object={object} isDeleted={isDeleted} />;
    case "relations":
      return <RelationsTab object={object} />;
    case "history":
      return <HistoryTab object={object} />;
  }
}

function TabList({
  tabs,
  shown,
  id,
}: {
  readonly tabs: readonly ObjectTab[];
  readonly shown: ObjectTab;
  readonly id: string;
}) {
  const list = useRef<HTMLDivElement>(null);
  return (
    <div
      ref={list}
      role="tablist"
      aria-label="Parts of the page"
      className={styles.tabs}
      onKeyDown={(event) => {
        const next = tabAfter(event, tabs, shown);
        if (next === undefined) return;
        event.preventDefault();
        const link = list.current?.querySelectorAll<HTMLElement>("[role=tab]")[next];
        link?.focus();
        link?.click();
      }}
    >
      {tabs.map((each) => (
        <Link
          key={each}
          role="tab"
          id={`${id}-${each}`}
          aria-selected={each === shown}
          aria-controls={`${id}-panel`}
          tabIndex={each === shown ? 0 : -1}
          className={styles.tab}
          from={route.id}
          to="."
          params
          search={({ ns }) => ({
            ...(ns !== undefined && { ns }),
            ...(each !== "summary" && { tab: each }),
          })}
          replace
        >
          {labels[each]}
        </Link>
      ))}
    </div>
  );
}

/** Returns the number of the tab that a key leads to. */
function tabAfter(
  { key }: KeyboardEvent,
  tabs: readonly ObjectTab[],
  shown: ObjectTab,
): number | undefined {
  const at = tabs.indexOf(shown);
  const byKey: Record<string, number> = {
    ArrowRight: (at + 1) % tabs.length,
    ArrowLeft: (at + tabs.length - 1) % tabs.length,
    Home: 0,
    End: tabs.length - 1,
  };
  return byKey[key];
}
