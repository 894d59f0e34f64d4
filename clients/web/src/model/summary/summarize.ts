import type { KubeObject, KubeValue } from "@kubeconnect/client";
import { resourceName } from "../resource.js";
import { summarizeConditions } from "./conditions.js";
import { summarizeCronJob, summarizeJob } from "./job.js";
import { summarizeNode } from "./node.js";
import { summarizePod } from "./pod.js";
import { summarizeService } from "./service.js";
import { summarizeClaim } from "./storage.js";
import type { Related, Summary } from "./types.js";
import { summarizeWorkload } from "./workload.js";

const byResource: Record<string, (value: KubeValue, related: Related) => Summary> = {
  pods: summarizePod,
  nodes: summarizeNode,
  services: summarizeService,
  persistentvolumeclaims: summarizeClaim,
  replicationcontrollers: summarizeWorkload,
  "deployments.apps": summarizeWorkload,
  "statefulsets.apps": summarizeWorkload,
  "daemonsets.apps": summarizeWorkload,
  "replicasets.apps": summarizeWorkload,
  "jobs.batch": summarizeJob,
  "cronjobs.batch": summarizeCronJob,
};

/** Returns the state of an object of any kind in the terms of people. */
export function summarize(object: KubeObject, related: Related = {}): Summary {
  const summary = (byResource[resourceName(object.resource)] ?? summarizeConditions)(
    object.value,
    related,
  );
  const { deletionTimestamp, finalizers } = object.value.metadata as KubeValue["metadata"] & {
    finalizers?: readonly string[];
  };
  if (!deletionTimestamp || object.resource.plural === "pods") return summary;
  const detail = finalizers?.length
    ? `It waits for the finalizers ${finalizers.join(", ")}.`
    : undefined;
  const deletion = {
    tone: "warn" as const,
    title: "The object is being deleted",
    detail,
    since: deletionTimestamp,
  };
  return {
    ...summary,
    status: { text: "Terminating", tone: "warn" },
    findings: [deletion, ...summary.findings],
  };
}
