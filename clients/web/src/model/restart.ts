/** The workloads whose pods `kubectl rollout restart` replaces. */
const restartable = new Set(["deployments.apps", "statefulsets.apps", "daemonsets.apps"]);

export function isRestartable(resource: string): boolean {
  return restartable.has(resource);
}

/** Returns the merge patch that restarts a workload as kubectl does. */
export function restartPatch(now: Date) {
  const annotations = { "kubectl.kubernetes.io/restartedAt": now.toISOString() };
  return { spec: { template: { metadata: { annotations } } } };
}
