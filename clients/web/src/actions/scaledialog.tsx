import { useClient, useMutation } from "@kubeconnect/client/react";
import { useId, useState } from "react";
import { targetOf } from "../model/target.js";
import ui from "../ui/ui.module.css";
import styles from "./actions.module.css";
import { Confirm, type DialogProps } from "./confirm.js";
import { withSpec } from "./immediate.js";
import { scale } from "./patches.js";

/** Asks for the number of replicas. */
export function ScaleDialog({ object, onClose }: DialogProps) {
  const client = useClient();
  const { replicas = 1 } = (object.value.spec ?? {}) as { replicas?: number };
  const [text, setText] = useState(String(replicas));
  const wanted = /^\d{1,6}$/.test(text) ? Number(text) : undefined;
  const id = useId();
  const { mutateAsync, pending, error } = useMutation(
    (count: number) => scale(client, targetOf(object), count),
    {
      optimistic: (count) => ({
        resource: object.resource,
        name: object,
        apply: (value) => withSpec(value, { replicas: count }),
      }),
    },
  );
  const confirm = (): void => {
    if (wanted !== undefined) void mutateAsync(wanted).then(onClose, () => undefined);
  };
  return (
    <Confirm
      title={`Scale ${object.name}`}
      action={wanted === 0 ? "Scale to zero" : "Scale"}
      look={wanted === 0 ? "danger" : "primary"}
      pending={pending}
      disabled={wanted === undefined || wanted === replicas}
      error={error}
      onConfirm={confirm}
      onClose={onClose}
    >
      <form
        className={styles.row}
        onSubmit={(event) => {
          event.preventDefault();
          if (wanted !== replicas) confirm();
        }}
      >
        <label htmlFor={id}>Replicas</label>
        <input
          id={id}
          className={ui.field}
          type="number"
          min={0}
          max={999_999}
          autoFocus
          value={text}
          aria-invalid={wanted === undefined}
          onChange={(event) => {
            setText(event.target.value);
          }}
        />
        <span className={styles.dim}>{`now ${replicas}`}</span>
      </form>
      {wanted === 0 && <p>All of its pods will be deleted. Nothing will serve its requests.</p>}
    </Confirm>
  );
}
