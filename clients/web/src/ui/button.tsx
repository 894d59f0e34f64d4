import type { ComponentPropsWithRef } from "react";
import styles from "./ui.module.css";

interface Props extends ComponentPropsWithRef<"button"> {
  readonly look?: "primary" | "danger" | "quiet" | undefined;
}

/** A button. `look` is its meaning: the main action, a dangerous one, or one of a toolbar. */
export function Button({ look, className, ...rest }: Props) {
  const classes = [styles.button, look && styles[look], className].filter(Boolean).join(" ");
  return <button type="button" className={classes} {...rest} />;
}
