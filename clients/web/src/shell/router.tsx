import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  retainSearchParams,
} from "@tanstack/react-router";
import { OverviewPage } from "../overview/page.js";
import { NotFound } from "./notfound.js";
import { Shell } from "./shell.js";
import { ViewError } from "./viewerror.js";

/** What every address can have: the namespace that all views show; without it, all namespaces. */
export interface AppSearch {
  readonly ns?: string | undefined;
}

/** What the address of a table has. */
export interface TableSearch extends AppSearch {
  /** A label selector, a field selector, and a CEL filter, as in the API. */
  readonly labels?: string;
  readonly fields?: string;
  readonly filter?: string;
  /** Text that names contain. */
  readonly q?: string;
  /** The path to sort by; "path desc" for the reverse order. */
  readonly sort?: string;
  /** The columns to show, and the paths of the user's own columns, separated by commas. */
  readonly cols?: string;
  /** The values of the quick filter, such as phases, separated by commas. */
  readonly quick?: string;
}

/** The parts of the page of one object. */
export const objectTabs = ["summary", "yaml", "events", "logs", "relations", "history"] as const;
export type ObjectTab = (typeof objectTabs)[number];

export interface ObjectSearch extends AppSearch {
  readonly tab?: ObjectTab;
  /** The container whose log is shown. */
  readonly container?: string;
}

/** What the address of the logs of several pods has. */
export interface LogsSearch extends AppSearch {
  readonly labels?: string;
  /** The workload whose pods are read: "deployments/default/web". */
  readonly of?: string;
  readonly find?: string;
}

/** Returns the parameters of an address that are text. */
function texts<K extends string>(
  search: Record<string, unknown>,
  ...keys: K[]
): Partial<Record<K, string>> {
  const found: Partial<Record<K, string>> = {};
  for (const key of keys) {
    const value = search[key];
    if (typeof value === "string" || typeof value === "number") found[key] = String(value);
  }
  return found;
}

const root = createRootRoute({
  component: Shell,
  notFoundComponent: NotFound,
  validateSearch: (search: Record<string, unknown>): AppSearch => texts(search, "ns"),
  search: { middlewares: [retainSearchParams(["ns"])] },
});

const overview = createRoute({ getParentRoute: () => root, path: "/", component: OverviewPage });

export const tableRoute = createRoute({
  getParentRoute: () => root,
  path: "/r/$resource",
  component: lazyRouteComponent(() => import("../table/page.js"), "TablePage"),
  validateSearch: (search: Record<string, unknown>): TableSearch =>
    texts(search, "labels", "fields", "filter", "q", "sort", "cols", "quick"),
});

export const objectRoute = createRoute({
  getParentRoute: () => root,
  path: "/o/$resource/$namespace/$name",
  component: lazyRouteComponent(() => import("../object/page.js"), "ObjectPage"),
  validateSearch: (search: Record<string, unknown>): ObjectSearch => {
    const { tab, ...rest } = texts(search, "tab", "container");
    const known = objectTabs.find((each) => each === tab);
    return { ...rest, ...(known && { tab: known }) };
  },
});

export const logsRoute = createRoute({
  getParentRoute: () => root,
  path: "/logs",
  component: lazyRouteComponent(() => import("../logs/page.js"), "LogsPage"),
  validateSearch: (search: Record<string, unknown>): LogsSearch =>
    texts(search, "labels", "of", "find"),
});

const service = createRoute({
  getParentRoute: () => root,
  path: "/service",
  component: lazyRouteComponent(() => import("../overview/service.js"), "ServicePage"),
});

export const router = createRouter({
  routeTree: root.addChildren([overview, tableRoute, objectRoute, logsRoute, service]),
  defaultPreload: "intent",
  defaultErrorComponent: ViewError,
});

declare module "@tanstack/react-router" {
  interface Register {
    router: typeof router;
  }
}
