import type { Client } from "@kubeconnect/client";
import { lazy, Suspense, useState } from "react";
import { refusalOf } from "../model/refusal.js";
import { isRestartable } from "../model/restart.js";
import { namespacesOf, type RowName, type RowSelection } from "../model/rowselection.js";
import { useLoaded } from "../session/useloaded.js";
import { Button } from "../ui/button.js";
import type { BulkAction } from "./bulkdialog.js";
import styles from "./table.module.css";

const BulkDialog = lazy(() =>
  import("./bulkdialog.js").then(({ BulkDialog }) => ({ default: BulkDialog })),
);

interface BulkBarProps {
  readonly resource: string;
  readonly selection: RowSelection;
  readonly onClear: () => void;
  readonly onDeleted: (rows: readonly RowName[]) => void;
}

/** What can be done with the selected objects. */
export function BulkBar({ resource, selection, onClear, onDeleted }: BulkBarProps) {
  const [open, setOpen] = useState<{ action: BulkAction; rows: readonly RowName[] }>();
  const denied = useDenied(resource, selection);
  const actions: readonly (readonly [BulkAction, string, string | undefined])[] = [
    ...(isRestartable(resource) ? [["restart", "Restart…", denied.patch] as const] : []),
    ["label", "Label…", denied.patch],
    ["delete", "Delete…", denied.delete],
  ];
  return (
    <div className={styles.bulk} role="group" aria-label="Selected objects">
      <strong role="status">{selection.size.toLocaleString("en")} selected</strong>
      {actions.map(([action, label, reason]) => (
        <Button
          key={action}
          look={action === "delete" ? "danger" : undefined}
          aria-disabled={reason !== undefined}
          title={reason}
          onClick={() => {
            if (reason === undefined) setOpen({ action, rows: [...selection.values()] });
          }}
        >
          {label}
        </Button>
      ))}
      <Button look="quiet" onClick={onClear}>
        Clear
      </Button>
      {denied.summary && <span className={styles.dim}>{denied.summary}</span>}
      {open && (
        <Suspense fallback={null}>
          <BulkDialog
            {...open}
            resource={resource}
            onClose={(done) => {
              setOpen(undefined);
              if (open.action === "delete") onDeleted(done);
            }}
          />
        </Suspense>
      )}
    </div>
  );
}

interface Denied {
  /** Why the action is not offered; undefined if it is. */
  readonly delete: string | undefined;
  readonly patch: string | undefined;
  /** The same for people who cannot point at a button. */
  readonly summary: string | undefined;
}

const checkedNamespaces = 50;

/** Asks whether the caller may delete and change the selected objects, in all their namespaces. */
function useDenied(resource: string, selection: RowSelection): Denied {
  const namespaces = namespacesOf(selection);
  const { value, error } = useLoaded(`${resource} ${namespaces.join()}`, (client, signal) =>
    checkAll(client, resource, namespaces, signal),
  );
  const unknown = error ? error.message : "Checking your permissions";
  const reasons = value ?? { delete: unknown, patch: unknown };
  const summary = value ? [...new Set([value.delete, value.patch])].filter(Boolean).join(". ") : "";
  return { ...reasons, summary: summary || error?.message };
}

async function checkAll(
  client: Client,
  resource: string,
  namespaces: readonly string[],
  signal: AbortSignal,
) {
  const checked = namespaces.length > checkedNamespaces ? [""] : namespaces;
  const checksOf = (verb: string) => checked.map((namespace) => ({ verb, resource, namespace }));
  const [deletes, patches] = [checksOf("delete"), checksOf("patch")];
  const decisions = await client.checkAccess([...deletes, ...patches], { signal });
  return {
    delete: refusalOf(deletes, decisions.slice(0, deletes.length)),
    patch: refusalOf(patches, decisions.slice(deletes.length)),
  };
}
