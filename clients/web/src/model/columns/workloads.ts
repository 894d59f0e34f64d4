import { formatAge } from "@kubeconnect/client/helpers";
import type { KubeValue } from "@kubeconnect/client";
import type { Tone } from "../../model/tone.js";
import {
  conditionOf,
  numberOf,
  specOf,
  statusOf,
  stringOf,
  type Cell,
  type Column,
  type KindColumns,
} from "./column.js";
import { ageColumn, pathColumn } from "./common.js";

/** A column with the number of replicas that are ready, of those that are wanted. */
function readyColumn(
  readyField: string,
  wanted: (object: KubeValue) => number,
  path: string,
): Column {
  return {
    id: "ready",
    title: "Ready",
    width: 84,
    numeric: true,
    paths: [`status.${readyField}`, path],
    sortPath: `status.${readyField}`,
    cell: (object) => readyCell(numberOf(statusOf(object)[readyField]), wanted(object)),
  };
}

function readyCell(ready: number, wanted: number): Cell {
  return { text: `${ready}/${wanted}`, tone: readyTone(ready, wanted) };
}

function readyTone(ready: number, wanted: number): Tone {
  if (wanted === 0) return "neutral";
  if (ready >= wanted) return "ok";
  return ready === 0 ? "bad" : "warn";
}

const replicasOf = (object: KubeValue) => numberOf(specOf(object).replicas, 1);

const images = pathColumn("spec.template.spec.containers[*].image", {
  id: "images",
  title: "Images",
  width: 240,
});

const number = (path: string, id: string, title: string, optional = false): Column =>
  pathColumn(path, { id, title, width: 88, numeric: true, missing: "0", optional });

const deployments: readonly Column[] = [
  readyColumn("readyReplicas", replicasOf, "spec.replicas"),
  number("status.updatedReplicas", "updated", "Up to date"),
  number("status.availableReplicas", "available", "Available"),
  images,
  pathColumn("spec.strategy.type", { id: "strategy", title: "Strategy", optional: true }),
  ageColumn(),
];

const statefulSets: readonly Column[] = [
  readyColumn("readyReplicas", replicasOf, "spec.replicas"),
  number("status.updatedReplicas", "updated", "Up to date"),
  pathColumn("spec.serviceName", { id: "service", title: "Service" }),
  images,
  ageColumn(),
];

const wantedByNodes = (object: KubeValue) => numberOf(statusOf(object).desiredNumberScheduled);

const daemonSets: readonly Column[] = [
  readyColumn("numberReady", wantedByNodes, "status.desiredNumberScheduled"),
  number("status.updatedNumberScheduled", "updated", "Up to date"),
  number("status.numberAvailable", "available", "Available"),
  images,
  ageColumn(),
];

const replicaSets: readonly Column[] = [
  readyColumn("readyReplicas", replicasOf, "spec.replicas"),
  number("status.replicas", "replicas", "Current"),
  pathColumn("metadata.ownerReferences[*].name", { id: "owner", title: "Owner", width: 160 }),
  images,
  ageColumn(),
];

/** Returns what kubectl prints as the status of a job. */
function jobStatus(job: KubeValue): Cell {
  if (conditionOf(job, "Complete") === "True") return { text: "Complete", tone: "ok" };
  if (conditionOf(job, "Failed") === "True") return { text: "Failed", tone: "bad" };
  if (job.metadata.deletionTimestamp) return { text: "Terminating", tone: "info" };
  if (conditionOf(job, "Suspended") === "True") return { text: "Suspended", tone: "neutral" };
  return { text: "Running", tone: "info" };
}

function jobDuration(job: KubeValue): Cell {
  const { startTime, completionTime } = statusOf(job);
  if (!startTime) return { text: "" };
  if (!completionTime) return { text: stringOf(startTime), since: stringOf(startTime) };
  const ms = Date.parse(stringOf(completionTime)) - Date.parse(stringOf(startTime));
  return { text: formatAge(ms) };
}

function jobCompletions(job: KubeValue): Cell {
  const { completions, parallelism } = specOf(job);
  const succeeded = numberOf(statusOf(job).succeeded);
  const wanted = completions ?? (numberOf(parallelism) > 1 ? `1 of ${stringOf(parallelism)}` : 1);
  return { text: `${succeeded}/${stringOf(wanted)}` };
}

const jobs: readonly Column[] = [
  {
    id: "status",
    title: "Status",
    width: 110,
    paths: [
      "status.conditions[*].type",
      "status.conditions[*].status",
      "metadata.deletionTimestamp",
    ],
    cell: jobStatus,
  },
  {
    id: "completions",
    title: "Completions",
    width: 96,
    numeric: true,
    paths: ["spec.completions", "spec.parallelism", "status.succeeded"],
    sortPath: "status.succeeded",
    cell: jobCompletions,
  },
  {
    id: "duration",
    title: "Duration",
    width: 76,
    numeric: true,
    paths: ["status.startTime", "status.completionTime"],
    cell: jobDuration,
  },
  images,
  ageColumn(),
];

const cronJobs: readonly Column[] = [
  pathColumn("spec.schedule", { id: "schedule", title: "Schedule", width: 120 }),
  {
    id: "suspended",
    title: "Suspended",
    width: 92,
    paths: ["spec.suspend"],
    sortPath: "spec.suspend",
    cell: (job) =>
      specOf(job).suspend === true ? { text: "Suspended", tone: "warn" } : { text: "No" },
  },
  {
    id: "active",
    title: "Active",
    width: 64,
    numeric: true,
    paths: ["status.active[*].name"],
    cell: (job) => {
      const { active } = statusOf(job);
      return { text: String(Array.isArray(active) ? active.length : 0) };
    },
  },
  ageColumn("status.lastScheduleTime", { id: "last", title: "Last run", width: 78 }),
  pathColumn("spec.timeZone", { id: "zone", title: "Time zone", optional: true }),
  ageColumn(),
];

export const workloadColumns: Record<string, KindColumns> = {
  "deployments.apps": { namespaced: true, columns: deployments },
  "statefulsets.apps": { namespaced: true, columns: statefulSets },
  "daemonsets.apps": { namespaced: true, columns: daemonSets },
  "replicasets.apps": { namespaced: true, columns: replicaSets },
  "jobs.batch": { namespaced: true, columns: jobs },
  "cronjobs.batch": { namespaced: true, columns: cronJobs },
};
