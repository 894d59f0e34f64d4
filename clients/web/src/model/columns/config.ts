import type { KubeValue } from "@kubeconnect/client";
import type { Tone } from "../../model/tone.js";
import {
  fieldsOf,
  listOf,
  numberOf,
  specOf,
  statusOf,
  stringOf,
  type Cell,
  type Column,
  type KindColumns,
} from "./column.js";
import { ageColumn, pathColumn } from "./common.js";

// The keys of "data" cannot be read without their values, which do not belong into a table.
const immutable = pathColumn("immutable", { title: "Immutable", width: 84, missing: "No" });

const serviceAccounts: readonly Column[] = [
  pathColumn("imagePullSecrets[*].name", { id: "pull", title: "Pull secrets", width: 180 }),
  ageColumn(),
];

/** Returns a metric of an autoscaler as "cpu: 40%/80%". */
function metricText(metric: Fieldlike, current: Fieldlike | undefined): string {
  const type = stringOf(metric.type);
  const key = type.charAt(0).toLowerCase() + type.slice(1);
  const wanted = fieldsOf(metric[key]);
  const name = stringOf(wanted.name) || stringOf(fieldsOf(wanted.metric).name) || type;
  const now = amountOf(fieldsOf(fieldsOf(current?.[key]).current));
  return `${name}: ${now || "unknown"}/${amountOf(fieldsOf(wanted.target))}`;
}

type Fieldlike = ReturnType<typeof fieldsOf>;

function amountOf({ averageUtilization, averageValue, value }: Fieldlike): string {
  if (averageUtilization !== undefined) return `${stringOf(averageUtilization)}%`;
  return stringOf(averageValue ?? value);
}

function metricsCell(autoscaler: KubeValue): Cell {
  const current = listOf(statusOf(autoscaler).currentMetrics);
  const metrics = listOf(specOf(autoscaler).metrics);
  return { text: metrics.map((metric, index) => metricText(metric, current[index])).join(", ") };
}

const autoscalers: readonly Column[] = [
  {
    id: "target",
    title: "Target",
    width: 200,
    paths: ["spec.scaleTargetRef"],
    sortPath: "spec.scaleTargetRef.name",
    cell: (autoscaler) => {
      const { kind, name } = fieldsOf(specOf(autoscaler).scaleTargetRef);
      return { text: `${stringOf(kind)}/${stringOf(name)}` };
    },
  },
  {
    id: "metrics",
    title: "Metrics",
    width: 200,
    paths: ["spec.metrics", "status.currentMetrics"],
    cell: metricsCell,
  },
  pathColumn("spec.minReplicas", {
    id: "min",
    title: "Min",
    width: 56,
    numeric: true,
    missing: "1",
  }),
  pathColumn("spec.maxReplicas", { id: "max", title: "Max", width: 56, numeric: true }),
  pathColumn("status.currentReplicas", {
    id: "replicas",
    title: "Replicas",
    width: 76,
    numeric: true,
  }),
  ageColumn(),
];

function budgetTone(budget: KubeValue): Tone {
  const { currentHealthy, desiredHealthy, disruptionsAllowed } = statusOf(budget);
  if (numberOf(currentHealthy) < numberOf(desiredHealthy)) return "bad";
  return numberOf(disruptionsAllowed) === 0 ? "warn" : "ok";
}

const budgets: readonly Column[] = [
  {
    id: "allowed",
    title: "Disruptions allowed",
    width: 140,
    numeric: true,
    paths: ["status.disruptionsAllowed", "status.currentHealthy", "status.desiredHealthy"],
    sortPath: "status.disruptionsAllowed",
    cell: (budget) => ({
      text: String(numberOf(statusOf(budget).disruptionsAllowed)),
      tone: budgetTone(budget),
    }),
  },
  pathColumn("spec.minAvailable", { id: "min", title: "Min available", width: 96, numeric: true }),
  pathColumn("spec.maxUnavailable", {
    id: "max",
    title: "Max unavailable",
    width: 110,
    numeric: true,
  }),
  pathColumn("status.currentHealthy", {
    id: "healthy",
    title: "Healthy",
    width: 72,
    numeric: true,
  }),
  ageColumn(),
];

export const configColumns: Record<string, KindColumns> = {
  configmaps: { namespaced: true, columns: [immutable, ageColumn()] },
  secrets: {
    namespaced: true,
    columns: [pathColumn("type", { title: "Type", width: 240 }), immutable, ageColumn()],
  },
  serviceaccounts: { namespaced: true, columns: serviceAccounts },
  "horizontalpodautoscalers.autoscaling": { namespaced: true, columns: autoscalers },
  "poddisruptionbudgets.policy": { namespaced: true, columns: budgets },
};
