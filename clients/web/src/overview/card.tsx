import { Code, type KubeconnectError } from "@kubeconnect/client";
import { useId, type ReactNode } from "react";
import styles from "./overview.module.css";

interface Props {
  readonly title: string;
  /** What has been read for the card: it shows its content when all of it is there. */
  readonly parts: readonly Part[];
  readonly wide?: boolean;
  readonly children: ReactNode;
}

/** The state of something that a card reads. */
export interface Part {
  readonly loaded: boolean;
  readonly error: KubeconnectError | undefined;
}

/** A section of the overview. It says so when the caller may not read what it shows. */
export function Card({ title, parts, wide, children }: Props) {
  const id = useId();
  return (
    <section className={styles.card} data-wide={wide} aria-labelledby={id}>
      <h2 id={id}>{title}</h2>
      <CardBody parts={parts}>{children}</CardBody>
    </section>
  );
}

function CardBody({ parts, children }: Pick<Props, "parts" | "children">) {
  const errors = parts.flatMap(({ error }) => error ?? []);
  const hasNothing = errors.length === parts.length;
  if (hasNothing && errors[0]) return <p className={styles.dim}>{errorText(errors[0])}</p>;
  if (parts.some(({ loaded, error }) => !loaded && !error)) {
    return <p className={styles.loading}>Reading…</p>;
  }
  return children;
}

function errorText({ code, message }: KubeconnectError): string {
  if (code === Code.PermissionDenied) return "You may not read this.";
  if (code === Code.NotFound) return "The cluster does not have this.";
  return `This cannot be read: ${message}`;
}

/** What a card says when there is nothing to show. */
export function Calm({ children }: { readonly children: ReactNode }) {
  return (
    <p className={styles.calm}>
      <span aria-hidden="true">✓</span> {children}
    </p>
  );
}
