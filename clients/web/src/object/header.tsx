import type { KubeObject } from "@kubeconnect/client";
import { Link } from "@tanstack/react-router";
import { ActionMenu } from "../actions/menu.js";
import { resourceName } from "../model/resource.js";
import type { Summary } from "../model/summary/types.js";
import { Age } from "../ui/age.js";
import { Chip } from "../ui/chip.js";
import styles from "./object.module.css";

/** What the object is, how it is, and what can be done with it. */
export function Header({
  object,
  summary: { status },
  isDeleted,
}: {
  readonly object: KubeObject;
  readonly summary: Summary;
  readonly isDeleted: boolean;
}) {
  const { namespace, name, value, resource } = object;
  return (
    <header className={styles.header}>
      <p className={styles.kind}>
        <Link to="/r/$resource" params={{ resource: resourceName(resource) }}>
          {resource.kind}
        </Link>
        {namespace && (
          <>
            {" in "}
            <Link
              to="/o/$resource/$namespace/$name"
              params={{ resource: "namespaces", namespace: "-", name: namespace }}
            >
              {namespace}
            </Link>
          </>
        )}
      </p>
      <h1>{name}</h1>
      <div className={styles.state}>
        <span aria-live="polite">
          {isDeleted ? (
            <Chip tone="neutral">Deleted</Chip>
          ) : (
            status.text && <Chip tone={status.tone}>{status.text}</Chip>
          )}
        </span>
        <span className={styles.dim}>
          <Age since={value.metadata.creationTimestamp} /> old
        </span>
      </div>
      {!isDeleted && <ActionMenu object={object} />}
    </header>
  );
}
