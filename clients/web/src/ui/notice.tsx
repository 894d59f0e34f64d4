import type { ReactNode } from "react";
import styles from "./ui.module.css";

/** A message within a view: an error, a warning, or a hint. Errors are announced. */
export function Notice({
  tone = "neutral",
  title,
  children,
}: {
  readonly tone?: "bad" | "warn" | "neutral";
  readonly title: string;
  readonly children?: ReactNode;
}) {
  return (
    <div className={styles.notice} data-tone={tone} role={tone === "bad" ? "alert" : "status"}>
      <strong>{title}</strong>
      {children}
    </div>
  );
}

/** What a view shows instead of its content: that it loads, is empty, or may not be read. */
export function Empty({ children }: { readonly children: ReactNode }) {
  return (
    <div className={styles.empty} role="status">
      {children}
    </div>
  );
}
