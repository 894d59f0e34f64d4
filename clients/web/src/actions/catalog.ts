import type { AccessCheck, AccessDecision, KubeObject } from "@kubeconnect/client";
import { isRestartable } from "../model/restart.js";
import { targetOf, type Target } from "../model/target.js";

export type ActionId =
  | "scale"
  | "restart"
  | "rollback"
  | "cordon"
  | "uncordon"
  | "drain"
  | "run"
  | "suspend"
  | "resume"
  | "label"
  | "delete";

/** An action that an object of its kind has, and the permissions that it needs. */
export interface Action {
  readonly id: ActionId;
  readonly label: string;
  readonly isDangerous?: boolean;
  readonly checks: readonly AccessCheck[];
}

const scalable = new Set([
  "deployments.apps",
  "statefulsets.apps",
  "replicasets.apps",
  "replicationcontrollers",
]);

/** Returns the actions that an object has, in the order of a menu. */
export function actionsOf(object: KubeObject): readonly Action[] {
  const target = targetOf(object);
  return [
    ...(scalable.has(target.resource) ? [scaleAction(target)] : []),
    ...(isRestartable(target.resource) ? [patchAction("restart", "Restart…", target)] : []),
    ...(target.resource === "deployments.apps" ? [rollbackAction(target)] : []),
    ...(target.resource === "nodes" ? nodeActions(object, target) : []),
    ...(target.resource === "cronjobs.batch" ? cronJobActions(object, target) : []),
    patchAction("label", "Edit labels…", target),
    { id: "delete", label: "Delete…", isDangerous: true, checks: [{ verb: "delete", ...target }] },
  ];
}

/** Returns the decisions on the checks of each action. They are in the order of all checks. */
export function decisionsOf(
  actions: readonly Action[],
  decisions: readonly AccessDecision[],
): readonly (readonly AccessDecision[])[] {
  let first = 0;
  return actions.map(({ checks }) => decisions.slice(first, (first += checks.length)));
}

function patchAction(id: ActionId, label: string, target: Target): Action {
  return { id, label, checks: [{ verb: "patch", ...target }] };
}

function scaleAction(target: Target): Action {
  const checks = [{ verb: "patch", subresource: "scale", ...target }];
  return { id: "scale", label: "Scale…", checks };
}

function rollbackAction(target: Target): Action {
  const { namespace } = target;
  const list = { verb: "list", resource: "replicasets.apps", namespace };
  return { id: "rollback", label: "Roll back…", checks: [{ verb: "patch", ...target }, list] };
}

function nodeActions({ value }: KubeObject, target: Target): readonly Action[] {
  const isCordoned =
    (value.spec as { unschedulable?: boolean } | undefined)?.unschedulable === true;
  const drainChecks = [
    { verb: "patch", ...target },
    { verb: "list", resource: "pods" },
    { verb: "create", resource: "pods", subresource: "eviction" },
  ];
  return [
    isCordoned
      ? patchAction("uncordon", "Uncordon", target)
      : patchAction("cordon", "Cordon", target),
    { id: "drain", label: "Drain…", isDangerous: true, checks: drainChecks },
  ];
}

function cronJobActions({ value }: KubeObject, target: Target): readonly Action[] {
  const isSuspended = (value.spec as { suspend?: boolean } | undefined)?.suspend === true;
  const { namespace } = target;
  return [
    {
      id: "run",
      label: "Run now",
      checks: [{ verb: "create", resource: "jobs.batch", namespace }],
    },
    isSuspended
      ? patchAction("resume", "Resume", target)
      : patchAction("suspend", "Suspend", target),
  ];
}
