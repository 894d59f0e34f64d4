import type { Client } from "@kubeconnect/client";
import { useClient } from "@kubeconnect/client/react";
import { useEffect, useId, useRef, useState } from "react";
import { label, restart } from "../actions/patches.js";
import { deletionConsequence, labelsOf, runBulk, type BulkProgress } from "../model/bulk.js";
import { pluralOf } from "../model/resource.js";
import { objectNameOf, type RowName } from "../model/rowselection.js";
import { useLoaded } from "../session/useloaded.js";
import { Button } from "../ui/button.js";
import { Dialog } from "../ui/dialog.js";
import { Notice } from "../ui/notice.js";
import ui from "../ui/ui.module.css";
import styles from "./table.module.css";

export type BulkAction = "delete" | "label" | "restart";

interface BulkDialogProps {
  readonly action: BulkAction;
  readonly resource: string;
  readonly rows: readonly RowName[];
  /** Called with the rows for which the action has succeeded. */
  readonly onClose: (done: readonly RowName[]) => void;
}

const verbs: Record<BulkAction, string> = { delete: "Delete", label: "Label", restart: "Restart" };

/** Says what an action does to the selected objects, does it, and shows how far it is. */
export function BulkDialog({ action, resource, rows, onClose }: BulkDialogProps) {
  const [labels, setLabels] = useState("");
  const { run, stop, progress, state } = useBulk(action, resource, rows, labels);
  const verb = verbs[action];
  const title = `${verb} ${describe(resource, rows)}`;
  const isReady = action !== "label" || labelsOf(labels) !== undefined;
  const close = () => {
    stop();
    onClose(progress.done);
  };
  return (
    <Dialog
      title={title}
      onClose={close}
      buttons={
        <>
          <Button onClick={state === "running" ? stop : close}>
            {state === "running" ? "Stop" : state === "ended" ? "Close" : "Cancel"}
          </Button>
          {state === "asking" && (
            <Button
              look={action === "delete" ? "danger" : "primary"}
              disabled={!isReady}
              onClick={run}
            >
              {title}
            </Button>
          )}
        </>
      }
    >
      <Names rows={rows} />
      {state === "asking" ? (
        <Consequences action={action} resource={resource} rows={rows} />
      ) : (
        <Progress progress={progress} total={rows.length} isRunning={state === "running"} />
      )}
      {action === "label" && state === "asking" && (
        <LabelInput value={labels} onChange={setLabels} />
      )}
    </Dialog>
  );
}

/** Returns one row by its name, and several ones by their number. */
function describe(resource: string, rows: readonly RowName[]): string {
  const [first] = rows;
  if (first && rows.length === 1) return first.name;
  return `${rows.length.toLocaleString("en")} ${pluralOf(resource)}`;
}

function useBulk(action: BulkAction, resource: string, rows: readonly RowName[], labels: string) {
  const client = useClient();
  const [state, setState] = useState<"asking" | "running" | "ended">("asking");
  const [progress, setProgress] = useState<BulkProgress>({ done: [], failures: [] });
  const running = useRef<AbortController>(undefined);
  useEffect(() => () => running.current?.abort(), []);
  const run = () => {
    const leaving = (running.current = new AbortController());
    const call = callOf(client, action, resource, labels);
    setState("running");
    void runBulk(rows, call, setProgress, leaving.signal).then(() => {
      setState("ended");
    });
  };
  const stop = () => running.current?.abort();
  return { run, stop, progress, state };
}

/** Returns the call that applies an action to one object. */
function callOf(client: Client, action: BulkAction, resource: string, text: string) {
  const now = new Date();
  const labels = labelsOf(text) ?? {};
  return (row: RowName): Promise<unknown> => {
    const target = { resource, ...objectNameOf(row) };
    switch (action) {
      case "delete":
        return client.delete(resource, objectNameOf(row));
      case "label":
        return label(client, target, labels);
      case "restart":
        return restart(client, target, now);
    }
  };
}

const namesShown = 8;

function Names({ rows }: { readonly rows: readonly RowName[] }) {
  const more = rows.length - namesShown;
  return (
    <ul className={styles.names}>
      {rows.slice(0, namesShown).map(({ key, namespace, name }) => (
        <li key={key}>
          <code>{namespace ? `${namespace}/${name}` : name}</code>
        </li>
      ))}
      {more > 0 && <li>and {more} more</li>}
    </ul>
  );
}

interface ConsequencesProps {
  readonly action: BulkAction;
  readonly resource: string;
  readonly rows: readonly RowName[];
}

function Consequences({ action, resource, rows }: ConsequencesProps) {
  if (action === "restart") {
    return <p>Their pods are replaced step by step, as the update strategy of each one says.</p>;
  }
  if (action === "label") {
    return <p>The labels of the objects themselves change, not those of pods that they create.</p>;
  }
  return (
    <>
      <p>{deletionConsequence(resource)}</p>
      <OwnedPods resource={resource} rows={rows} />
    </>
  );
}

const countedOwners = 20;

/** Says how many pods are deleted along with the first few owners. */
function OwnedPods({ resource, rows }: Omit<ConsequencesProps, "action">) {
  const isOwner = /\.(apps|batch)$/.test(resource);
  const counted = rows.slice(0, countedOwners);
  const { value } = useLoaded(
    isOwner ? counted.map(({ key }) => key).join() : undefined,
    (client, signal) => countOwned(client, resource, counted, signal),
  );
  if (value === undefined) return null;
  const rest = rows.length > countedOwners ? ` of the first ${countedOwners}` : "";
  return (
    <p>
      <strong>
        {value} {value === 1 ? "pod" : "pods"}
      </strong>
      {rest} will be deleted along.
    </p>
  );
}

async function countOwned(
  client: Client,
  resource: string,
  rows: readonly RowName[],
  signal: AbortSignal,
): Promise<number> {
  const counts = rows.map(({ namespace, name }) =>
    client.count("pods", {
      namespace,
      related: { type: "ownedBy", resource, namespace, name, transitive: true },
      signal,
    }),
  );
  return (await Promise.all(counts)).reduce((sum, { total }) => sum + total, 0);
}

interface ProgressProps {
  readonly progress: BulkProgress;
  readonly total: number;
  readonly isRunning: boolean;
}

function Progress({ progress: { done, failures }, total, isRunning }: ProgressProps) {
  const ended = done.length + failures.length;
  const left = isRunning ? "" : total > ended ? `, ${total - ended} not tried` : "";
  return (
    <>
      <progress max={total} value={ended} aria-label="Objects" />
      <p role="status">
        {done.length} of {total} done
        {failures.length > 0 && `, ${failures.length} failed`}
        {left}
      </p>
      {failures.length > 0 && (
        <Notice tone="bad" title="These failed">
          <ul className={styles.names}>
            {failures.map(({ row, message }) => (
              <li key={row.key}>
                <code>{row.name}</code> {message}
              </li>
            ))}
          </ul>
        </Notice>
      )}
    </>
  );
}

interface LabelInputProps {
  readonly value: string;
  readonly onChange: (text: string) => void;
}

function LabelInput({ value, onChange }: LabelInputProps) {
  const id = useId();
  const isInvalid = value.trim() !== "" && labelsOf(value) === undefined;
  return (
    <>
      <label htmlFor={id}>Labels to set, as key=value, or to remove, as key-</label>
      <input
        id={id}
        className={ui.field}
        autoFocus
        spellCheck={false}
        placeholder="team=web tier-"
        aria-invalid={isInvalid}
        value={value}
        onChange={(event) => {
          onChange(event.target.value);
        }}
      />
      {isInvalid && <p className={styles.bad}>These are not valid labels.</p>}
    </>
  );
}
