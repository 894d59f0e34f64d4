import type { KubeObject } from "@kubeconnect/client";
import { useLivePage, type LivePageView } from "@kubeconnect/client/react";
import { resourceName } from "../model/resource.js";
import { aboutFilter, eventFields } from "./group.js";

const newest = {
  orderBy: "metadata.creationTimestamp desc",
  limit: 300,
  fields: eventFields,
  keepPrevious: true,
} as const;

/** The events about an object, the newest 300. */
export function useEvents(object: KubeObject): LivePageView {
  const { namespace, name, resource } = object;
  const place = namespace === "" ? { name } : { namespace, name };
  return useLivePage("events", {
    ...(namespace && { namespace }),
    related: { type: "about", resource: resourceName(resource), ...place },
    ...newest,
  });
}

/** The pods of a workload of which events are read at most. */
export const mostPods = 200;

/** The events about the newest pods of a workload, and the number of all its pods. */
export function usePodEvents(object: KubeObject, isWanted: boolean) {
  const { namespace, name, resource } = object;
  const pods = useLivePage(isWanted ? "pods" : null, {
    namespace,
    related: { type: "selectedBy", resource: resourceName(resource), namespace, name },
    metadataOnly: true,
    orderBy: "metadata.creationTimestamp desc",
    limit: mostPods,
  });
  const uids = pods.items.map(({ uid }) => uid).sort();
  const events = useLivePage(uids.length > 0 ? "events" : null, {
    namespace,
    filter: aboutFilter(uids),
    ...newest,
  });
  return {
    events: events,
    podCount: pods.total,
    error: pods.error ?? events.error,
  };
}

/** Returns whether an object selects pods. */
export function hasPods({ value, namespace }: KubeObject): boolean {
  return namespace !== "" && Boolean((value.spec as { selector?: unknown } | undefined)?.selector);
}
