import type { KubeObject } from "@kubeconnect/client";
import { useId, useRef, useState, type KeyboardEvent } from "react";
import { refusalOf } from "../model/refusal.js";
import { useAccess } from "../session/access.js";
import { Button } from "../ui/button.js";
import styles from "./actions.module.css";
import { actionsOf, decisionsOf, type Action, type ActionId } from "./catalog.js";
import { ActionDialog } from "./dialogs.js";
import { isImmediate, useImmediate } from "./immediate.js";
import { useShowObject } from "./shown.js";

/** The actions on an object: those that the caller may perform, and why not for the others. */
export function ActionMenu({ object }: { readonly object: KubeObject }) {
  const [isOpen, setOpen] = useState(false);
  const [dialog, setDialog] = useState<ActionId>();
  const button = useRef<HTMLButtonElement>(null);
  const id = useId();
  const immediate = useImmediate(object);
  const close = (): void => {
    setOpen(false);
    button.current?.focus();
  };
  const start = (action: ActionId): void => {
    close();
    if (isImmediate(action)) immediate.perform(action);
    else setDialog(action);
  };
  useShowObject(object, start);
  return (
    <div className={styles.actions}>
      <span role="status" className={styles.message} data-failed={immediate.error !== undefined}>
        {immediate.error?.message ?? immediate.message}
      </span>
      <div
        className={styles.anchor}
        onBlur={(event) => {
          if (!event.currentTarget.contains(event.relatedTarget)) setOpen(false);
        }}
      >
        <Button
          ref={button}
          aria-haspopup="menu"
          aria-expanded={isOpen}
          aria-controls={isOpen ? id : undefined}
          onClick={() => {
            setOpen(!isOpen);
          }}
        >
          Actions <span aria-hidden="true">▾</span>
        </Button>
        {isOpen && <Menu id={id} actions={actionsOf(object)} onStart={start} onClose={close} />}
      </div>
      {dialog && (
        <ActionDialog
          action={dialog}
          object={object}
          onClose={() => {
            setDialog(undefined);
          }}
        />
      )}
    </div>
  );
}

function Menu({
  id,
  actions,
  onStart,
  onClose,
}: {
  readonly id: string;
  readonly actions: readonly Action[];
  readonly onStart: (action: ActionId) => void;
  readonly onClose: () => void;
}) {
  const { value: decisions, error } = useAccess(actions.flatMap(({ checks }) => checks));
  const byAction = decisions && decisionsOf(actions, decisions);
  return (
    <div
      id={id}
      role="menu"
      aria-label="Actions"
      className={styles.menu}
      onKeyDown={(event) => {
        moveFocus(event, onClose);
      }}
    >
      {actions.map((action, index) => {
        const own = byAction?.[index];
        const refusal =
          error?.message ?? (own ? refusalOf(action.checks, own) : "Checking permissions…");
        return (
          <button
            key={action.id}
            type="button"
            role="menuitem"
            ref={index === 0 ? focus : undefined}
            tabIndex={-1}
            className={styles.item}
            data-dangerous={action.isDangerous}
            aria-disabled={refusal !== undefined}
            title={refusal}
            onClick={() => {
              if (refusal === undefined) onStart(action.id);
            }}
          >
            {action.label}
            {refusal && <small>{refusal}</small>}
          </button>
        );
      })}
    </div>
  );
}

function focus(element: HTMLElement | null): void {
  element?.focus();
}

/** Moves the focus by the keys of a menu. */
function moveFocus(event: KeyboardEvent<HTMLElement>, onClose: () => void): void {
  const items = [...event.currentTarget.querySelectorAll<HTMLElement>("[role=menuitem]")];
  const at = items.findIndex((each) => each === document.activeElement);
  const byKey: Record<string, number> = {
    ArrowDown: (at + 1) % items.length,
    ArrowUp: (at + items.length - 1) % items.length,
    Home: 0,
    End: items.length - 1,
  };
  const next = byKey[event.key];
  if (next === undefined && event.key !== "Escape") return;
  event.preventDefault();
  event.stopPropagation();
  if (next === undefined) onClose();
  else items[next]?.focus();
}
