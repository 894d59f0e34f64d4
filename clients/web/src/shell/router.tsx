import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  retainSearchParams,
  type RouterHistory,
} from "@tanstack/react-router";
import { appSearch, logsSearch, objectSearch, tableSearch } from "../model/addresses.js";
import { OverviewPage } from "../overview/page.js";
import { NotFound, ViewError } from "./failures.js";
import { Shell } from "./shell.js";

const root = createRootRoute({
  component: Shell,
  notFoundComponent: NotFound,
  validateSearch: appSearch,
  search: { middlewares: [retainSearchParams(["ns"])] },
});

const overview = createRoute({ getParentRoute: () => root, path: "/", component: OverviewPage });

const table = createRoute({
  getParentRoute: () => root,
  path: "/r/$resource",
  component: lazyRouteComponent(() => import("../table/page.js"), "TablePage"),
  validateSearch: tableSearch,
});

const object = createRoute({
  getParentRoute: () => root,
  path: "/o/$resource/$namespace/$name",
  component: lazyRouteComponent(() => import("../object/page.js"), "ObjectPage"),
  validateSearch: objectSearch,
});

const logs = createRoute({
  getParentRoute: () => root,
  path: "/logs",
  component: lazyRouteComponent(() => import("../logs/page.js"), "LogsPage"),
  validateSearch: logsSearch,
});

const service = createRoute({
  getParentRoute: () => root,
  path: "/service",
  component: lazyRouteComponent(() => import("../overview/service.js"), "ServicePage"),
});

const routeTree = root.addChildren([overview, table, object, logs, service]);

/** Creates the router of the page; a test gives it a history of its own. */
export function createAppRouter(history?: RouterHistory) {
  return createRouter({
    routeTree,
    defaultPreload: "intent",
    defaultErrorComponent: ViewError,
    ...(history && { history }),
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof createAppRouter>;
  }
}
