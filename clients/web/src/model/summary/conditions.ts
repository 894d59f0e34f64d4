import type { KubeValue } from "@kubeconnect/client";
import type { Tone } from "../../model/tone.js";
import type { Condition, Summary } from "./types.js";

/** Returns the conditions of an object of any kind. */
export function conditionsOf(value: KubeValue): readonly Condition[] {
  const { conditions } = (value.status ?? {}) as { conditions?: unknown };
  if (!Array.isArray(conditions)) return [];
  return (conditions as Partial<Condition>[]).filter(
    (each): each is Condition => typeof each.type === "string" && typeof each.status === "string",
  );
}

export function conditionOf(value: KubeValue, type: string): Condition | undefined {
  return conditionsOf(value).find((each) => each.type === type);
}

// Types whose status True is bad, as names of conditions in use say it.
const negative =
  /Pressure|Unavailable|Fail(ed|ure|ing)|Degraded|Stalled|Error|Terminating|Dangling|Violat|NotReady|Disruption|Exceeded|Paused|Suspended|NamesNotAccepted|NonStructural/;
// Types that say nothing about health in either state.
const neutral = /^(Progressing|Reconciling|Resizing|PodResize|FileSystemResizePending|.*Progress)$/;

/** Returns what a condition means: a bad one, a good one, or an unknown one. */
export function conditionTone({ type, status, reason }: Condition): Tone {
  if (status === "Unknown") return "warn";
  if (neutral.test(type)) return status === "False" && reason ? "warn" : "neutral";
  const isGood = negative.test(type) ? status === "False" : status === "True";
  return isGood ? "ok" : "bad";
}

/** Returns the summary of a kind that the console does not know: that of its conditions. */
export function summarizeConditions(value: KubeValue): Summary {
  const conditions = conditionsOf(value);
  const bad = conditions.filter((each) => ["bad", "warn"].includes(conditionTone(each)));
  const findings = bad.map((each) => ({
    tone: conditionTone(each),
    title: `${each.type} is ${each.status}${each.reason ? `: ${each.reason}` : ""}`,
    detail: each.message,
    since: each.lastTransitionTime ?? undefined,
  }));
  return { status: genericStatus(value, conditions), findings, facts: [] };
}

function genericStatus(
  value: KubeValue,
  conditions: readonly Condition[],
): { text: string; tone: Tone } {
  const main = conditions.find(({ type }) => ["Ready", "Available", "Healthy"].includes(type));
  if (main) {
    if (main.status === "True") return { text: main.type, tone: "ok" };
    return { text: main.reason || `Not ${main.type.toLowerCase()}`, tone: conditionTone(main) };
  }
  const { phase, state } = (value.status ?? {}) as { phase?: unknown; state?: unknown };
  const text = typeof phase === "string" ? phase : state;
  if (typeof text === "string" && text) return { text, tone: phaseTone(text) };
  const bad = conditions.find((each) => conditionTone(each) === "bad");
  if (bad) return { text: bad.reason || bad.type, tone: "bad" };
  return { text: "", tone: "neutral" }; // an object without a status, such as a config map
}

function phaseTone(phase: string): Tone {
  if (/^(Active|Bound|Ready|Running|Succeeded|Complete|Completed|Healthy|Available)$/.test(phase))
    return "ok";
  if (/Fail|Error|Lost|Degraded/.test(phase)) return "bad";
  return /Pending|Terminating|Progress/.test(phase) ? "warn" : "neutral";
}
