import type { KubeObject } from "@kubeconnect/client";
import type { ReactNode } from "react";
import { Button } from "../ui/button.js";
import { Dialog } from "../ui/dialog.js";
import { Notice } from "../ui/notice.js";

/** What each dialog of an action gets. */
export interface DialogProps {
  readonly object: KubeObject;
  readonly onClose: () => void;
}

/** A dialog with an action: its button, its error, and the way out. */
export function Confirm({
  title,
  action,
  look = "primary",
  pending,
  disabled = false,
  error,
  onConfirm,
  onClose,
  children,
}: {
  readonly title: string;
  readonly action: string;
  readonly look?: "primary" | "danger";
  readonly pending: boolean;
  readonly disabled?: boolean;
  readonly error: Error | undefined;
  readonly onConfirm: () => void;
  readonly onClose: () => void;
  readonly children?: ReactNode;
}) {
  return (
    <Dialog
      title={title}
      onClose={onClose}
      buttons={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button look={look} disabled={pending || disabled} onClick={onConfirm}>
            {pending ? "Working…" : action}
          </Button>
        </>
      }
    >
      {children}
      {error && <Notice tone="bad" title={error.message} />}
    </Dialog>
  );
}
