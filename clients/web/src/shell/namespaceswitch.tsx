import { useState } from "react";
import { useNamespace, useSetNamespace } from "../session/namespace.js";
import { useNamespaces } from "../session/namespaces.js";
import { Button } from "../ui/button.js";
import { Dialog } from "../ui/dialog.js";
import ui from "../ui/ui.module.css";
import styles from "./shell.module.css";

/** The value of the choice that asks for a name. No namespace can have this name. */
const other = "…";

/** The choice of the namespace that all views show. */
export function NamespaceSwitch() {
  const namespace = useNamespace();
  const setNamespace = useSetNamespace();
  const { names, isPartial } = useNamespaces();
  const [isTyping, setTyping] = useState(false);
  const choices = namespace && !names.includes(namespace) ? [namespace, ...names] : names;
  return (
    <>
      <select
        className={`${ui.field} ${styles.namespace}`}
        aria-label="Namespace"
        value={namespace ?? ""}
        onChange={({ target: { value } }) => {
          if (value === other) setTyping(true);
          else setNamespace(value || undefined);
        }}
      >
        <option value="">All namespaces</option>
        {choices.map((name) => (
          <option key={name}>{name}</option>
        ))}
        {isPartial && <option value={other}>Another namespace…</option>}
      </select>
      {isTyping && (
        <NamespaceDialog
          onClose={() => {
            setTyping(false);
          }}
          onName={setNamespace}
        />
      )}
    </>
  );
}

/** Asks for the name of a namespace that the caller may not find in a list. */
function NamespaceDialog({
  onClose,
  onName,
}: {
  readonly onClose: () => void;
  readonly onName: (name: string) => void;
}) {
  const [name, setName] = useState("");
  return (
    <Dialog title="Show another namespace" onClose={onClose}>
      <form
        className={styles.namespaceForm}
        onSubmit={(event) => {
          event.preventDefault();
          onName(name.trim());
          onClose();
        }}
      >
        <input
          className={ui.field}
          aria-label="Name of the namespace"
          autoFocus
          required
          value={name}
          onChange={(event) => {
            setName(event.target.value);
          }}
        />
        <Button look="primary" type="submit">
          Show
        </Button>
        <Button onClick={onClose}>Cancel</Button>
      </form>
    </Dialog>
  );
}
