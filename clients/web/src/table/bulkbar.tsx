import type { AccessDecision, Client } from "@kubeconnect/client";
import { lazy, Suspense, useState } from "react";
import { useLoaded } from "../app/useloaded.js";
import { isRestartable } from "../model/restart.js";
import { namespacesOf, type RowName, type RowSelection } from "../model/rowselection.js";
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
const checkedVerbs = ["delete", "patch"] as const;

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
  const checks = checkedVerbs.flatMap((verb) =>
    checked.map((namespace) => ({ verb, resource, namespace })),
  );
  const decisions = await client.checkAccess(checks, { signal });
  const reasonOf = (verb: string) => {
    const index = decisions.findIndex((each, at) => checks[at]?.verb === verb && !each.allowed);
    return denialOf(verb, resource, checks[index]?.namespace, decisions[index]);
  };
  return { delete: reasonOf("delete"), patch: reasonOf("patch") };
}

function denialOf(
  verb: string,
  resource: string,
  namespace: string | undefined,
  decision: AccessDecision | undefined,
): string | undefined {
  if (!decision) return undefined;
  const place = namespace ? ` in ${namespace}` : "";
  const reason = decision.reason ? `: ${decision.reason}` : "";
  return `You may not ${verb} ${resource}${place}${reason}`;
}
