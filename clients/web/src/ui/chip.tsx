import type { ReactNode } from "react";
import type { Tone } from "../model/tone.js";
import styles from "./ui.module.css";

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
