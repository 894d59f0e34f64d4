import type { Client, CreateResult, KubeObject } from "@kubeconnect/client";

interface CronJobSpec {
  readonly jobTemplate?: {
    readonly metadata?: { readonly labels?: object; readonly annotations?: object };
    readonly spec?: object;
  };
}

/** Returns the job that a cron job starts, as `kubectl create job --from` makes it. */
export function jobOf(cronJob: KubeObject, now = Date.now()): object {
  const { jobTemplate = {} } = (cronJob.value.spec ?? {}) as CronJobSpec;
  const owner = { apiVersion: "batch/v1", kind: "CronJob", name: cronJob.name, uid: cronJob.uid };
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: {
      // The name of a job has at most 63 characters.
      name: `${cronJob.name.slice(0, 45)}-manual-${now.toString(36)}`,
      namespace: cronJob.namespace,
      labels: jobTemplate.metadata?.labels,
      annotations: {
        ...jobTemplate.metadata?.annotations,
        "cronjob.kubernetes.io/instantiate": "manual",
      },
      ownerReferences: [{ ...owner, controller: true }],
    },
    spec: jobTemplate.spec,
  };
}

/** Starts a job of a cron job now. */
export function runNow(client: Client, cronJob: KubeObject): Promise<CreateResult> {
  return client.create("jobs.batch", jobOf(cronJob));
}
