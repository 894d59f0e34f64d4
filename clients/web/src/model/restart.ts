const restartable = new Set(["deployments.apps", "statefulsets.apps", "daemonsets.apps"]);

/** Reports whether objects of a resource are workloads whose pods a restart replaces. */
export function isRestartable(resource: string): boolean {
  return restartable.has(resource);
}
