import type { KubeObject } from "@kubeconnect/client";
import { useList } from "@kubeconnect/client/react";
import { getRouteApi } from "@tanstack/react-router";
import { containersOf } from "../model/containernames.js";
import { resourceName } from "../model/resource.js";
import { Empty } from "../ui/notice.js";
import { podsOf } from "./target.js";
import { LogView } from "./view.js";

const route = getRouteApi("/o/$resource/$namespace/$name");

/** The logs of a pod, or of all pods of a workload. */
export function PodLogsTab({ object }: { readonly object: KubeObject }) {
  const { container } = route.useSearch();
  if (object.resource.plural === "cronjobs") return <LatestJobLogs object={object} />;
  const pods = podsOf(object);
  if (!pods) {
    return <Empty>An object of this kind has no pods of its own, and so it has no logs.</Empty>;
  }
  return (
    <LogView
      key={object.uid}
      pods={pods}
      containers={containersOf(object.value)}
      container={container}
    />
  );
}

/** The logs of the last job of a cron job. */
function LatestJobLogs({ object }: { readonly object: KubeObject }) {
  const { namespace, name } = object;
  const { objects, loaded, error } = useList("jobs.batch", {
    namespace,
    related: { type: "ownedBy", resource: resourceName(object.resource), namespace, name },
  });
  const latest = objects.toSorted((a, b) => createdAt(b) - createdAt(a))[0];
  const pods = latest && podsOf(latest);
  if (error) return <Empty>The jobs cannot be read: {error.message}</Empty>;
  if (!loaded) return <Empty>Looking for the last job…</Empty>;
  if (!pods) return <Empty>The cron job has no job at present.</Empty>;
  return <LogView key={latest.uid} pods={pods} containers={containersOf(latest.value)} />;
}

function createdAt({ value }: KubeObject): number {
  return Date.parse(value.metadata.creationTimestamp);
}
