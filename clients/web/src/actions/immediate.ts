import type { KubeObject, KubeValue } from "@kubeconnect/client";
import { useClient, useMutation, type Optimistic } from "@kubeconnect/client/react";
import { targetOf } from "../model/target.js";
import type { ActionId } from "./catalog.js";
import { runNow } from "./cronjob.js";
import { cordon, suspend } from "./patches.js";

const immediate = ["cordon", "uncordon", "suspend", "resume", "run"] as const;
type Immediate = (typeof immediate)[number];

/** Whether an action needs no dialog: it can be undone by its opposite, or takes nothing away. */
export function isImmediate(action: ActionId): action is Immediate {
  return immediate.some((each) => each === action);
}

/** Returns how the action is performed, and what became of the last one. */
export function useImmediate(object: KubeObject) {
  const client = useClient();
  const { mutate, pending, error, result } = useMutation(
    async (action: Immediate) => {
      const target = targetOf(object);
      switch (action) {
        case "cordon":
        case "uncordon":
          return { ...(await cordon(client, object.name, action === "cordon")), message: "" };
        case "suspend":
        case "resume":
          return { ...(await suspend(client, target, action === "suspend")), message: "" };
        case "run": {
          const created = await runNow(client, object);
          return { object: undefined, message: `Started ${created.object.name}` };
        }
      }
    },
    { optimistic: (action) => optimisticOf(object, action) },
  );
  return { perform: mutate, error, message: pending ? "Working…" : (result?.message ?? "") };
}

/** Returns the fields that an action sets. */
function optimisticOf(object: KubeObject, action: Immediate): Optimistic | undefined {
  const fields: Record<Immediate, object | undefined> = {
    cordon: { unschedulable: true },
    uncordon: { unschedulable: undefined },
    suspend: { suspend: true },
    resume: { suspend: false },
    run: undefined,
  };
  const set = fields[action];
  return set && { resource: object.resource, name: object, apply: (value) => withSpec(value, set) };
}

/** Returns a value with fields of its specification replaced. */
export function withSpec(value: KubeValue, fields: object): KubeValue {
  return { ...value, spec: { ...(value.spec as object | undefined), ...fields } };
}
