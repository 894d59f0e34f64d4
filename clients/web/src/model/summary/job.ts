import type { KubeValue } from "@kubeconnect/client";
import { conditionOf } from "./conditions.js";
import { plural, type Finding, type Related, type Summary } from "./types.js";

interface JobValue extends KubeValue {
  readonly spec?: {
    readonly completions?: number;
    readonly parallelism?: number;
    readonly backoffLimit?: number;
    readonly suspend?: boolean;
    readonly schedule?: string;
    readonly timeZone?: string;
    readonly concurrencyPolicy?: string;
  };
  readonly status?: {
    readonly active?: number | readonly { readonly name: string }[];
    readonly succeeded?: number;
    readonly failed?: number;
    readonly startTime?: string;
    readonly completionTime?: string;
    readonly lastScheduleTime?: string;
    readonly lastSuccessfulTime?: string;
  };
}

/** Returns the state of a job. */
export function summarizeJob(value: KubeValue): Summary {
  const { spec = {}, status = {} } = value as JobValue;
  const { succeeded = 0, failed = 0 } = status;
  const active = typeof status.active === "number" ? status.active : 0;
  const wanted = spec.completions ?? 1;
  const facts = [
    { name: "Succeeded", value: `${succeeded} of ${wanted}` },
    { name: "Running", value: String(active) },
    { name: "Failed", value: `${failed}, at most ${spec.backoffLimit ?? 6}` },
  ];
  return { status: jobStatus(value, active), findings: jobFindings(value, failed), facts };
}

function jobStatus(job: KubeValue, active: number): Summary["status"] {
  if (conditionOf(job, "Complete")?.status === "True") return { text: "Complete", tone: "ok" };
  if (conditionOf(job, "Failed")?.status === "True") return { text: "Failed", tone: "bad" };
  if ((job as JobValue).spec?.suspend) return { text: "Suspended", tone: "neutral" };
  return active > 0 ? { text: "Running", tone: "info" } : { text: "Waiting", tone: "warn" };
}

function jobFindings(job: KubeValue, failed: number): readonly Finding[] {
  const condition = conditionOf(job, "Failed");
  if (condition?.status === "True") {
    const title =
      failureTitles[condition.reason ?? ""] ?? `The job failed: ${condition.reason ?? ""}`;
    const since = condition.lastTransitionTime ?? undefined;
    return [{ tone: "bad", title, detail: condition.message, since }];
  }
  if (conditionOf(job, "Complete")?.status === "True" || failed === 0) return [];
  return [{ tone: "warn", title: `${plural(failed, "pod")} failed; the job tries again` }];
}

const failureTitles: Record<string, string> = {
  BackoffLimitExceeded: "The job failed: its pods failed as often as its backoff limit allows",
  DeadlineExceeded: "The job failed: it took longer than its active deadline",
};

/** Returns the state of a cron job. */
export function summarizeCronJob(value: KubeValue, { warnings = [] }: Related = {}): Summary {
  const { spec = {}, status = {} } = value as JobValue;
  const active = Array.isArray(status.active) ? status.active.length : 0;
  const findings: Finding[] = [];
  if (spec.suspend) findings.push({ tone: "warn", title: "It is suspended: no jobs are started" });
  const late = warnings.find(
    ({ reason }) => reason === "TooManyMissedTimes" || reason === "MissSchedule",
  );
  if (late)
    findings.push({
      tone: "bad",
      title: "It has missed times of its schedule",
      detail: late.message,
    });
  const { lastScheduleTime: last, lastSuccessfulTime: success } = status;
  if (last && active === 0 && (!success || success < last)) {
    findings.push({ tone: "warn", title: "Its last job has not succeeded", since: last });
  }
  return {
    status: spec.suspend
      ? { text: "Suspended", tone: "neutral" }
      : active > 0
        ? { text: "Running", tone: "info" }
        : { text: "Scheduled", tone: "ok" },
    findings,
    facts: [
      {
        name: "Schedule",
        value: `${spec.schedule ?? ""}${spec.timeZone ? ` (${spec.timeZone})` : ""}`,
      },
      { name: "Running jobs", value: String(active) },
      { name: "Concurrency", value: spec.concurrencyPolicy ?? "Allow" },
      { name: "Last started", value: last ? new Date(last).toLocaleString() : "never" },
      { name: "Last succeeded", value: success ? new Date(success).toLocaleString() : "never" },
    ],
  };
}
