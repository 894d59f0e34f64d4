import type { ReactNode } from "react";
import styles from "./ui.module.css";

/** What a state means: well, in need of attention, failed, in progress, or none of these. */
export type Tone = "ok" | "warn" | "bad" | "info" | "neutral";

/** A short text with the color of its meaning. The text alone must say what it means. */
export function Chip({ tone = "neutral", children }: { tone?: Tone; children: ReactNode }) {
  return <span className={`${styles.chip} ${styles[tone]}`}>{children}</span>;
}
