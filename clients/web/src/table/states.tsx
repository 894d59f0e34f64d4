import { Code, type KubeconnectError } from "@kubeconnect/client";
import { useEffect, useState, type ReactNode } from "react";
import { Button } from "../ui/button.js";
import { Empty, Notice } from "../ui/notice.js";
import styles from "./table.module.css";

/** Rows without content, after a moment: most tables are there before. */
export function Loading() {
  const isSlow = useIsSlow();
  return (
    <div className={styles.loading} role="status">
      <span className="visually-hidden">Loading</span>
      {isSlow && Array.from({ length: 12 }, (_, row) => <span key={row} className={styles.bar} />)}
    </div>
  );
}

function useIsSlow(): boolean {
  const [isSlow, setSlow] = useState(false);
  useEffect(() => {
    const timer = setTimeout(setSlow, 300, true);
    return () => {
      clearTimeout(timer);
    };
  }, []);
  return isSlow;
}

interface NoRowsProps {
  readonly resource: string;
  readonly namespace: string | undefined;
  /** What is selected by, as "name: value". */
  readonly selectors: readonly string[];
  readonly onClear: () => void;
}

/** Says that there are no objects, and which selection is the reason. */
export function NoRows({ resource, namespace, selectors, onClear }: NoRowsProps) {
  const place = namespace ? ` in the namespace ${namespace}` : "";
  if (selectors.length === 0) return <Empty>{`There are no ${resource}${place}.`}</Empty>;
  return (
    <Empty>
      <p>{`No ${resource}${place} match:`}</p>
      <ul className={styles.selectors}>
        {selectors.map((selector) => (
          <li key={selector}>
            <code>{selector}</code>
          </li>
        ))}
      </ul>
      <Button onClick={onClear}>Clear the filters</Button>
    </Empty>
  );
}

/** Says that the filter must be mended first: the error itself is beside the input. */
export function InvalidFilter({ onClear }: { readonly onClear: () => void }) {
  return (
    <Empty>
      <p>The filter is not valid, so that nothing can be shown.</p>
      <Button onClick={onClear}>Clear the filter</Button>
    </Empty>
  );
}

interface FailureProps {
  readonly resource: string;
  readonly error: KubeconnectError;
  /** Asks the service again. */
  readonly onRetry: () => void;
}

/** Says why the objects cannot be shown, and what can be done. */
export function Failure({ resource, error, onRetry }: FailureProps) {
  const [title, advice] = explanationOf(resource, error.code);
  return (
    <div className={styles.failure}>
      <Notice tone="bad" title={title}>
        <p>{error.message}</p>
        {advice}
        <Button onClick={onRetry}>Try again</Button>
      </Notice>
    </div>
  );
}

function explanationOf(resource: string, code: Code): readonly [string, ReactNode] {
  switch (code) {
    case Code.PermissionDenied:
      return [
        `You may not list ${resource} here`,
        <p key="advice">Choose a namespace in which you may, or ask an administrator.</p>,
      ];
    case Code.NotFound:
      return [`The cluster has no resource with the name ${resource}`, null];
    case Code.InvalidArgument:
      return ["The service does not accept this selection", null];
    default:
      return [`The ${resource} cannot be read`, null];
  }
}
