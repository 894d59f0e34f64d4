import { KubeconnectError, type PropagationPolicy } from "@kubeconnect/client";
import { useClient, useMutation } from "@kubeconnect/client/react";
import { useEffect, useId, useState } from "react";
import { targetOf } from "../model/target.js";
import { countText } from "../model/types.js";
import { labelOf, useCatalog } from "../session/catalog.js";
import { Notice } from "../ui/notice.js";
import ui from "../ui/ui.module.css";
import styles from "./actions.module.css";
import { Confirm, type DialogProps } from "./confirm.js";
import { countDependents, deletionWarning, remove, type Dependents } from "./delete.js";

const policies: readonly (readonly [PropagationPolicy, string])[] = [
  ["background", "Delete what it owns afterwards"],
  ["foreground", "Delete what it owns first"],
  ["orphan", "Keep what it owns, without an owner"],
];

/** Says what a deletion takes along, and asks how to delete. */
export function DeleteDialog({ object, onClose }: DialogProps) {
  const client = useClient();
  const [policy, setPolicy] = useState<PropagationPolicy>("background");
  const [grace, setGrace] = useState("");
  const isGraceValid = /^\d{0,6}$/.test(grace);
  const isPod = object.resource.plural === "pods" && !object.resource.group;
  const ids = { policy: useId(), grace: useId() };
  const target = targetOf(object);
  const warning = deletionWarning(target);
  const { mutateAsync, pending, error } = useMutation(() =>
    remove(client, target, {
      propagationPolicy: policy,
      gracePeriodSeconds: grace ? Number(grace) : undefined,
      uid: object.uid,
    }),
  );
  return (
    <Confirm
      title={`Delete ${object.resource.kind} ${object.name}?`}
      action="Delete"
      look="danger"
      pending={pending}
      disabled={!isGraceValid}
      error={error}
      onConfirm={() => void mutateAsync().then(onClose, () => undefined)}
      onClose={onClose}
    >
      <Consequences target={target} isKept={policy === "orphan"} />
      {warning && <Notice tone="warn" title={warning} />}
      {target.resource !== "namespaces" && ( // what is in a namespace is not owned by it
        <div className={styles.row}>
          <label htmlFor={ids.policy}>Owned objects</label>
          <select
            id={ids.policy}
            className={ui.field}
            value={policy}
            onChange={(event) => {
              setPolicy(event.target.value as PropagationPolicy);
            }}
          >
            {policies.map(([value, text]) => (
              <option key={value} value={value}>
                {text}
              </option>
            ))}
          </select>
        </div>
      )}
      {isPod && (
        <div className={styles.row}>
          <label htmlFor={ids.grace}>Grace period in seconds</label>
          <input
            id={ids.grace}
            className={ui.field}
            inputMode="numeric"
            placeholder="its own"
            value={grace}
            aria-invalid={!isGraceValid}
            onChange={(event) => {
              setGrace(event.target.value);
            }}
          />
          {grace === "0" && <span>The pod is killed at once, without a chance to shut down.</span>}
        </div>
      )}
    </Confirm>
  );
}

function Consequences({
  target: { resource, namespace, name },
  isKept,
}: {
  readonly target: ReturnType<typeof targetOf>;
  readonly isKept: boolean;
}) {
  const client = useClient();
  const catalog = useCatalog();
  const [found, setFound] = useState<readonly Dependents[] | string>();
  useEffect(() => {
    const leaving = new AbortController();
    const { signal } = leaving;
    countDependents(client, { resource, namespace, name }, signal).then(
      setFound,
      (error: unknown) => {
        if (!signal.aborted) setFound(KubeconnectError.from(error).message);
      },
    );
    return () => {
      leaving.abort();
    };
  }, [client, resource, namespace, name]);
  if (found === undefined) return <p role="status">Counting what it takes along…</p>;
  if (typeof found === "string") {
    return <p role="status">What it takes along could not be counted: {found}</p>;
  }
  if (found.length === 0) return <p role="status">It takes no other objects along.</p>;
  return (
    <div role="status">
      <p>{isKept ? "It owns these objects, which are kept:" : "It takes these objects along:"}</p>
      <ul className={styles.counts}>
        {found.map(({ resource, count }) => (
          <li key={resource}>
            {count === undefined
              ? `${labelOf(catalog, resource)}: you may not count them`
              : countText(count, resource, catalog.all)}
          </li>
        ))}
      </ul>
    </div>
  );
}
