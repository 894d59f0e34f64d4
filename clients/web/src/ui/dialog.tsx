import { useEffect, useId, useRef, type ReactNode } from "react";
import styles from "./ui.module.css";

interface Props {
  readonly title: string;
  /** Called when the user closes the dialog, also by Escape. */
  readonly onClose: () => void;
  readonly children: ReactNode;
  /** The buttons at the end. */
  readonly buttons?: ReactNode;
}

/** A modal dialog, which is open while it is rendered. */
export function Dialog({ title, onClose, children, buttons }: Props) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog
      ref={element}
      className={styles.dialog}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
    >
      <div className={styles.dialogBody}>
        <h2 id={id}>{title}</h2>
        {children}
        {buttons && <div className={styles.dialogButtons}>{buttons}</div>}
      </div>
    </dialog>
  );
}
