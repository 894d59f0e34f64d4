import type { ReactNode } from "react";
import styles from "./ui.module.css";

/** What a state means: well, in need of attention, failed, in progress, or none of these. */
export type Tone = "ok" | "warn" | "bad" | "info" | "neutral";

interface Props {
  readonly tone?: Tone;
  /** The whole text, for a place that may be too narrow for it. */
  readonly title?: string;
  readonly children: ReactNode;
}

/** A short text with the color of its meaning. The text alone must say what it means. */
export function Chip({ tone = "neutral", title, children }: Props) {
  return (
    <span className={`${styles.chip} ${styles[tone]}`} title={title}>
      {children}
    </span>
  );
}
