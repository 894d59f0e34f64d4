import type { Client, PatchResult } from "@kubeconnect/client";
import { nameOf, type Target } from "../model/target.js";

/** Sets the number of replicas of a workload. */
export function scale(client: Client, target: Target, replicas: number): Promise<PatchResult> {
  const body = { spec: { replicas } };
  return client.patch(target.resource, nameOf(target), {
    type: "merge",
    subresource: "scale",
    body,
  });
}

/** Replaces the pods of a workload, as `kubectl rollout restart` does. */
export function restart(client: Client, target: Target, now = new Date()): Promise<PatchResult> {
  const annotations = { "kubectl.kubernetes.io/restartedAt": now.toISOString() };
  const body = { spec: { template: { metadata: { annotations } } } };
  return client.patch(target.resource, nameOf(target), { type: "merge", body });
}

/** Sets whether new pods may be scheduled on a node. */
export function cordon(client: Client, node: string, unschedulable: boolean): Promise<PatchResult> {
  const body = { spec: { unschedulable: unschedulable || null } };
  return client.patch("nodes", { name: node }, { type: "merge", body });
}

/** Sets labels of an object; null removes one. */
export function label(
  client: Client,
  target: Target,
  labels: Readonly<Record<string, string | null>>,
): Promise<PatchResult> {
  return client.patch(target.resource, nameOf(target), {
    type: "merge",
    body: { metadata: { labels } },
  });
}

/** Sets whether a cron job or a job is suspended. */
export function suspend(
  client: Client,
  target: Target,
  isSuspended: boolean,
): Promise<PatchResult> {
  return client.patch(target.resource, nameOf(target), {
    type: "merge",
    body: { spec: { suspend: isSuspended } },
  });
}
