import { KubeconnectError } from "@kubeconnect/client";
import { useClient, useMutation } from "@kubeconnect/client/react";
import { useEffect, useState } from "react";
import { Age } from "../ui/age.js";
import { Notice } from "../ui/notice.js";
import { Diff } from "../yaml/diff.js";
import { toYaml } from "../yaml/text.js";
import styles from "./actions.module.css";
import { Confirm, type DialogProps } from "./confirm.js";
import { readRevisions, rollBack, type Revision } from "./rollback.js";

/** Shows the revisions of a deployment, and what going back to one changes. */
export function RollbackDialog({ object, onClose }: DialogProps) {
  const client = useClient();
  const [opened] = useState(object); // the list does not change while the user chooses
  const [revisions, setRevisions] = useState<readonly Revision[]>();
  const [failure, setFailure] = useState<string>();
  const [number, setNumber] = useState<number>();
  useEffect(() => {
    readRevisions(client, opened).then(
      (found) => {
        setRevisions(found);
        setNumber(found.find((each) => !each.isCurrent)?.number);
      },
      (error: unknown) => {
        setFailure(KubeconnectError.from(error).message);
      },
    );
  }, [client, opened]);
  const chosen = revisions?.find((each) => each.number === number);
  const current = revisions?.find((each) => each.isCurrent);
  const { mutateAsync, pending, error } = useMutation((revision: Revision) =>
    rollBack(client, object, revision),
  );
  return (
    <Confirm
      title={`Roll back ${object.name}`}
      action={chosen ? `Roll back to revision ${chosen.number}` : "Roll back"}
      pending={pending}
      disabled={!chosen || chosen.isCurrent}
      error={error}
      onConfirm={() => {
        if (chosen) void mutateAsync(chosen).then(onClose, () => undefined);
      }}
      onClose={onClose}
    >
      {failure && <Notice tone="bad" title={failure} />}
      {!revisions && !failure && <p role="status">Reading the revisions…</p>}
      {revisions?.every((each) => each.isCurrent) && <p>There is no earlier revision.</p>}
      <fieldset className={styles.revisions}>
        <legend className="visually-hidden">Revision</legend>
        {revisions?.map((each) => (
          <label key={each.number}>
            <input
              type="radio"
              name="revision"
              checked={each.number === number}
              disabled={each.isCurrent}
              onChange={() => {
                setNumber(each.number);
              }}
            />
            <strong>{each.number}</strong>
            <span>{each.isCurrent ? "present" : each.cause || each.replicaSet}</span>
            <span className={styles.dim}>
              <Age since={each.createdAt} /> ago
            </span>
          </label>
        ))}
      </fieldset>
      {chosen && current && !chosen.isCurrent && (
        <div className={styles.diff}>
          <Diff
            label="What changes in the template"
            before={toYaml(current.template)}
            after={toYaml(chosen.template)}
          />
        </div>
      )}
    </Confirm>
  );
}
