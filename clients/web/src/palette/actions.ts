import { useLocation, useNavigate } from "@tanstack/react-router";
import { actionsOf, decisionsOf } from "../actions/catalog.js";
import { useShownObject } from "../actions/shown.js";
import { refusalOf } from "../model/refusal.js";
import { noNamespace } from "../model/resource.js";
import { useAccess } from "../session/access.js";
import { useSetNamespace } from "../session/namespace.js";
import { useSession } from "../session/session.js";
import { useCanSignOut } from "../session/signout.js";
import { setTheme } from "../ui/theme.js";
import type { Entry } from "./entries.js";

/** The kinds whose logs can be shown. */
const withLogs = new Set([
  "deployments.apps",
  "statefulsets.apps",
  "daemonsets.apps",
  "replicasets.apps",
  "jobs.batch",
]);

/** Returns what can be done in every view, and what in the present one. */
export function useActions(onHelp: () => void): readonly Entry[] {
  const { signOut } = useSession();
  const setNamespace = useSetNamespace();
  const logs = useLogsEntries();
  const canSignOut = useCanSignOut();
  return [
    ...logs,
    ...useObjectActions(),
    action("Show all namespaces", "Namespace", () => {
      setNamespace(undefined);
    }),
    action("Light theme", "Theme", () => {
      setTheme("light");
    }),
    action("Dark theme", "Theme", () => {
      setTheme("dark");
    }),
    action("Theme of the system", "Theme", () => {
      setTheme("auto");
    }),
    action("Keyboard shortcuts", "Help", onHelp),
    ...(canSignOut ? [action("Sign out", "Session", signOut)] : []),
    { ...action("Overview", "View", () => undefined), does: { href: "/" } },
    { ...action("State of the service", "View", () => undefined), does: { href: "/service" } },
  ];
}

function action(label: string, hint: string, run: () => void): Entry {
  return { id: `action ${label}`, label, hint, texts: [label], does: { action: run } };
}

/** Returns the actions on the object that is shown, as far as the caller may perform them. */
function useObjectActions(): readonly Entry[] {
  const shown = useShownObject();
  const actions = shown ? actionsOf(shown.object) : [];
  const { value: decisions = [] } = useAccess(actions.flatMap(({ checks }) => checks));
  const byAction = decisionsOf(actions, decisions);
  return actions.flatMap(({ id, label, checks }, index) => {
    const own = byAction[index] ?? [];
    if (!shown || own.length === 0 || refusalOf(checks, own)) return [];
    const { name, resource } = shown.object;
    const start = () => {
      shown.start(id);
    };
    return [action(actionLabel(label, name), resource.kind, start)];
  });
}

/** Returns the label of an action with the name of its object: "Scale web…". */
export function actionLabel(label: string, name: string): string {
  return label.endsWith("…") ? `${label.slice(0, -1)} ${name}…` : `${label} ${name}`;
}

/** Returns the logs of the object that is shown, if it has some. */
function useLogsEntries(): readonly Entry[] {
  const navigate = useNavigate();
  const path = useLocation({ select: ({ pathname }) => pathname });
  const [view, resource = "", namespace = "", name = ""] = path
    .split("/")
    .filter(Boolean)
    .map(decodeURIComponent);
  if (view !== "o" || namespace === noNamespace) return [];
  if (resource === "pods") {
    const show = () =>
      void navigate({
        to: "/o/$resource/$namespace/$name",
        params: { resource, namespace, name },
        search: { tab: "logs" },
      });
    return [action(`Logs of ${name}`, "Pod", show)];
  }
  if (!withLogs.has(resource)) return [];
  const of = `${resource}/${namespace}/${name}`;
  return [
    action(`Logs of ${name}`, resource, () => void navigate({ to: "/logs", search: { of } })),
  ];
}

/** Returns the namespaces as entries that switch the present view to them. */
export function useNamespaceEntries(names: readonly string[]): readonly Entry[] {
  const setNamespace = useSetNamespace();
  return names.map((name) => ({
    id: `namespace ${name}`,
    label: name,
    hint: "Namespace",
    texts: [name],
    does: {
      action: () => {
        setNamespace(name);
      },
    },
  }));
}
