import { KubeconnectError } from "@kubeconnect/client";
import { useClient } from "@kubeconnect/client/react";
import { useEffect, useRef, useState } from "react";
import { plural } from "../model/summary/types.js";
import type { Tone } from "../model/tone.js";
import { Button } from "../ui/button.js";
import { Chip } from "../ui/chip.js";
import { Dialog } from "../ui/dialog.js";
import { Notice } from "../ui/notice.js";
import styles from "./actions.module.css";
import type { DialogProps } from "./confirm.js";
import { drain, readDrainPlan, type DrainState, type DrainStep } from "./drain.js";
import type { DrainedPod } from "./drainplan.js";

type Phase = "planned" | "draining" | "stopped" | "done";

/** Shows what draining a node does to each pod, and its progress. */
export function DrainDialog({ object, onClose }: DialogProps) {
  const { name } = object;
  const { plan, error: planError } = usePlan(name);
  const { phase, steps, error, start, stop } = useDrain(name);
  const [isAccepted, setAccepted] = useState(false);
  const evicted = plan?.filter((each) => !each.staysBecause) ?? [];
  const losses = evicted.filter((each) => each.loss);
  const isDraining = phase === "draining";
  const shown = steps ?? plan?.map((pod) => ({ ...pod, state: undefined }));
  return (
    <Dialog
      title={`Drain ${name}`}
      onClose={() => {
        stop();
        onClose();
      }}
      buttons={
        <>
          <Button
            onClick={() => {
              if (isDraining) stop();
              else onClose();
            }}
          >
            {isDraining ? "Stop" : phase === "planned" ? "Cancel" : "Close"}
          </Button>
          {phase !== "done" && (
            <Button
              look="danger"
              disabled={!plan || isDraining || (losses.length > 0 && !isAccepted)}
              onClick={() => {
                if (plan) start(plan);
              }}
            >
              {phase === "stopped" ? "Continue" : `Evict ${plural(evicted.length, "pod")}`}
            </Button>
          )}
        </>
      }
    >
      <p role="status">
        {plan ? progressText(phase, steps, evicted.length) : "Reading the pods on the node…"}
      </p>
      {(error ?? planError) && <Notice tone="bad" title={(error ?? planError)?.message ?? ""} />}
      {shown && shown.length > 0 && <Steps steps={shown} />}
      {losses.length > 0 && phase === "planned" && (
        <label className={styles.row}>
          <input
            type="checkbox"
            checked={isAccepted}
            onChange={(event) => {
              setAccepted(event.target.checked);
            }}
          />
          {`Evict also the ${plural(losses.length, "pod")} that will lose something`}
        </label>
      )}
    </Dialog>
  );
}

function usePlan(node: string) {
  const client = useClient();
  const [plan, setPlan] = useState<readonly DrainedPod[]>();
  const [error, setError] = useState<Error>();
  useEffect(() => {
    readDrainPlan(client, node).then(setPlan, (reason: unknown) => {
      setError(KubeconnectError.from(reason));
    });
  }, [client, node]);
  return { plan, error };
}

function useDrain(node: string) {
  const client = useClient();
  const [phase, setPhase] = useState<Phase>("planned");
  const [steps, setSteps] = useState<readonly DrainStep[]>();
  const [error, setError] = useState<Error>();
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const run = async (plan: readonly DrainedPod[], signal: AbortSignal): Promise<void> => {
    try {
      for await (const next of drain(client, node, plan, { signal })) setSteps(next);
      setPhase("done");
    } catch (reason) {
      setPhase("stopped");
      if (!signal.aborted) setError(KubeconnectError.from(reason));
    }
  };
  const start = (plan: readonly DrainedPod[]): void => {
    running.current = new AbortController();
    setError(undefined);
    setPhase("draining");
    void run(plan, running.current.signal);
  };
  const stop = (): void => running.current?.abort();
  return { phase, steps, error, start, stop };
}

function progressText(
  phase: Phase,
  steps: readonly DrainStep[] | undefined,
  evicted: number,
): string {
  const of = (state: DrainState): number =>
    steps?.filter((each) => each.state === state).length ?? 0;
  switch (phase) {
    case "planned":
      return `The node is cordoned, and ${plural(evicted, "pod")} ${evicted === 1 ? "is" : "are"} evicted one after the other. Disruption budgets are respected.`;
    case "draining":
      return `${of("gone")} of ${evicted} gone, ${of("evicted")} shutting down, ${of("blocked")} waiting for a budget.`;
    case "stopped":
      return `Stopped. ${of("gone")} of ${evicted} gone. The node remains cordoned.`;
    case "done":
      return of("failed") > 0
        ? `${of("gone")} of ${evicted} gone; ${of("failed")} could not be evicted.`
        : "Drained. The node remains cordoned until you uncordon it.";
  }
}

const states: Record<DrainState, readonly [string, Tone]> = {
  waiting: ["Waiting", "neutral"],
  evicted: ["Shutting down", "info"],
  gone: ["Gone", "ok"],
  blocked: ["Waiting for a budget", "warn"],
  failed: ["Failed", "bad"],
  stays: ["Stays", "neutral"],
};

type Shown = DrainedPod & {
  readonly state: DrainState | undefined;
  readonly message?: string | undefined;
  readonly attempts?: number;
};

function Steps({ steps }: { readonly steps: readonly Shown[] }) {
  return (
    <ul className={styles.steps} tabIndex={0} aria-label="Pods on the node">
      {steps.map(({ namespace, name, uid, state, staysBecause, loss, message, attempts = 0 }) => {
        const [text, tone] = states[state ?? (staysBecause ? "stays" : "waiting")];
        return (
          <li key={uid}>
            <span>
              <span className={styles.dim}>{namespace}/</span>
              {name}
            </span>
            <Chip tone={tone}>{state || staysBecause ? text : "Will be evicted"}</Chip>
            {(message ?? staysBecause ?? loss) && (
              <small>
                {message ?? staysBecause ?? loss}
                {state === "blocked" && attempts > 1 && ` (${plural(attempts, "attempt")})`}
              </small>
            )}
          </li>
        );
      })}
    </ul>
  );
}
