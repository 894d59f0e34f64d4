import { useClient, useMutation } from "@kubeconnect/client/react";
import { useId, useState } from "react";
import { targetOf } from "../model/target.js";
import ui from "../ui/ui.module.css";
import styles from "./actions.module.css";
import { Confirm, type DialogProps } from "./confirm.js";
import { parseLabels } from "./labels.js";
import { label } from "./patches.js";

/** Edits the labels of an object, one in a line. */
export function LabelDialog({ object, onClose }: DialogProps) {
  const client = useClient();
  const before = object.value.metadata.labels ?? {};
  const [text, setText] = useState(() =>
    Object.entries(before)
      .map(([name, value]) => `${name}=${value}`)
      .join("\n"),
  );
  const { changes, problem } = parseLabels(text, before);
  const count = Object.keys(changes).length;
  const id = useId();
  const { mutateAsync, pending, error } = useMutation(() =>
    label(client, targetOf(object), changes),
  );
  return (
    <Confirm
      title={`Labels of ${object.name}`}
      action={count === 1 ? "Change 1 label" : `Change ${count} labels`}
      pending={pending}
      disabled={problem !== undefined || count === 0}
      error={error}
      onConfirm={() => void mutateAsync().then(onClose, () => undefined)}
      onClose={onClose}
    >
      <label htmlFor={id}>
        One label in a line: <code>name=value</code>
      </label>
      <textarea
        id={id}
        className={`${ui.field} ${styles.text}`}
        rows={8}
        cols={60}
        spellCheck={false}
        value={text}
        aria-invalid={problem !== undefined}
        onChange={(event) => {
          setText(event.target.value);
        }}
      />
      <p role="status">{problem}</p>
    </Confirm>
  );
}
