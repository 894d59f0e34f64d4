import type { ObjectGroup } from "@kubeconnect/client";
import { celString } from "../model/cel.js";
import type { Tone } from "../model/tone.js";

/** A number of pods with the same phase or reason. */
export interface PodGroup {
  readonly name: string;
  readonly count: number;
}

/** States of a container that waits for nothing unusual. */
const usual = new Set(["ContainerCreating", "PodInitializing", "PodCompleted"]);

/** Conditions by which a pod cannot be scheduled. */
const scheduling = new Set(["Unschedulable", "SchedulingGated"]);

/** Returns the groups with a name, the largest first. */
export function named(groups: readonly ObjectGroup[]): readonly PodGroup[] {
  return groups.flatMap(({ values: [name], count }) =>
    typeof name === "string" && name !== "" ? [{ name, count }] : [],
  );
}

/**
 * Returns why pods do not run: the reasons for which containers wait, those of pods themselves
 * (such as "Evicted"), and conditions of scheduling.
 */
export function podReasons(
  waiting: readonly ObjectGroup[],
  pods: readonly ObjectGroup[],
  conditions: readonly ObjectGroup[],
): readonly PodGroup[] {
  return [
    ...named(waiting).filter(({ name }) => !usual.has(name)),
    ...named(pods),
    ...named(conditions).filter(({ name }) => scheduling.has(name)),
  ].sort((a, b) => b.count - a.count);
}

/** Returns a CEL expression that selects the pods of a reason. */
export function reasonFilter(reason: string): string {
  const text = celString(reason);
  if (scheduling.has(reason)) {
    return `object.status.conditions.exists(c, has(c.reason) && c.reason == ${text})`;
  }
  return (
    `(has(object.status.reason) && object.status.reason == ${text}) || ` +
    "(has(object.status.containerStatuses) && object.status.containerStatuses.exists(c, " +
    `has(c.state.waiting) && c.state.waiting.reason == ${text}))`
  );
}

/** Returns what a phase means. */
export function phaseTone(phase: string): Tone {
  const tones: Readonly<Record<string, Tone>> = {
    Running: "ok",
    Succeeded: "neutral",
    Pending: "warn",
    Failed: "bad",
  };
  return tones[phase] ?? "warn";
}
