import { lazy, Suspense } from "react";
import type { ActionId } from "./catalog.js";
import type { DialogProps } from "./confirm.js";
import { DeleteDialog } from "./deletedialog.js";
import { DrainDialog } from "./draindialog.js";
import { LabelDialog } from "./labeldialog.js";
import { RestartDialog } from "./restartdialog.js";
import { ScaleDialog } from "./scaledialog.js";

const RollbackDialog = lazy(async () => ({
  default: (await import("./rollbackdialog.js")).RollbackDialog,
}));

/** The dialog of an action. */
export function ActionDialog({ action, ...props }: DialogProps & { readonly action: ActionId }) {
  switch (action) {
    case "scale":
      return <ScaleDialog {...props} />;
    case "restart":
      return <RestartDialog {...props} />;
    case "rollback":
      return (
        <Suspense fallback={null}>
          <RollbackDialog {...props} />
        </Suspense>
      );
    case "drain":
      return <DrainDialog {...props} />;
    case "label":
      return <LabelDialog {...props} />;
    case "delete":
      return <DeleteDialog {...props} />;
    default:
      return null; // the other actions need no dialog
  }
}
