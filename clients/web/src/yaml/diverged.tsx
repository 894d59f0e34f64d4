import { useState } from "react";
import { Button } from "../ui/button.js";
import { Notice } from "../ui/notice.js";
import { formatPath } from "./path.js";
import type { Divergence, OtherChange } from "./rebase.js";
import styles from "./yaml.module.css";

/** Explains what others have changed meanwhile, field by field, and offers to build on it. */
export function Diverged({
  divergence: { others, conflicts },
  onRebase,
}: {
  readonly divergence: Divergence;
  readonly onRebase: (takeTheirs: ReadonlySet<string>) => void;
}) {
  const [takeTheirs, setTakeTheirs] = useState<ReadonlySet<string>>(new Set());
  const shown = others.filter(({ path }) => path[0] !== "status"); // controllers' business
  const title = conflicts.length
    ? "Someone has changed the same fields while you were editing"
    : "Someone has changed other fields while you were editing";
  return (
    <Notice tone="warn" title={title}>
      {shown.length > 0 && (
        <ul className={styles.changes}>
          {shown.map((each) => (
            <li key={formatPath(each.path)}>
              <ByWhom change={each} /> <Value value={each.before} /> → <Value value={each.after} />
            </li>
          ))}
        </ul>
      )}
      {conflicts.map((each) => {
        const path = formatPath(each.path);
        return (
          <Conflict
            key={path}
            change={each}
            isTheirs={takeTheirs.has(path)}
            onChoose={(isTheirs) => {
              const next = new Set(takeTheirs);
              if (isTheirs) next.add(path);
              else next.delete(path);
              setTakeTheirs(next);
            }}
          />
        );
      })}
      <div>
        <Button
          look="primary"
          onClick={() => {
            onRebase(takeTheirs);
          }}
        >
          {conflicts.length ? "Continue with these choices" : "Take these over, and keep mine"}
        </Button>
      </div>
    </Notice>
  );
}

function ByWhom({ change: { path, manager } }: { readonly change: OtherChange }) {
  const time = manager?.time ? new Date(manager.time).toLocaleTimeString() : undefined;
  return (
    <>
      <code>{formatPath(path)}</code> by <strong>{manager?.name ?? "an unknown manager"}</strong>
      {time && ` at ${time}`}:
    </>
  );
}

function Conflict({
  change,
  isTheirs,
  onChoose,
}: {
  readonly change: OtherChange;
  readonly isTheirs: boolean;
  readonly onChoose: (isTheirs: boolean) => void;
}) {
  const name = formatPath(change.path);
  return (
    <fieldset className={styles.conflict}>
      <legend>
        <ByWhom change={change} />
      </legend>
      <span className={styles.dim}>
        It was <Value value={change.before} />
      </span>
      {[false, true].map((theirs) => (
        <label key={String(theirs)} className={styles.toggle}>
          <input
            type="radio"
            name={name}
            checked={isTheirs === theirs}
            onChange={() => {
              onChoose(theirs);
            }}
          />
          {theirs ? "Theirs: " : "Mine: "}
          <Value value={theirs ? change.after : change.mine?.value} />
        </label>
      ))}
    </fieldset>
  );
}

function Value({ value }: { readonly value: unknown }) {
  if (value === undefined) return <em>nothing</em>;
  const text = JSON.stringify(value);
  return <code title={text}>{text.length > 80 ? `${text.slice(0, 80)}…` : text}</code>;
}
