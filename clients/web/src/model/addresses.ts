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

/** Other values for parameters of the address of a table; undefined for none. */
export type TableChange = Partial<Record<keyof TableSearch, string | undefined>>;

/** The parts of the page of one object. */
export const objectTabs = [
  "summary",
  "yaml",
  "events",
  "logs",
  "terminal",
  "relations",
  "history",
] as const;
export type ObjectTab = (typeof objectTabs)[number];

export interface ObjectSearch extends AppSearch {
  readonly tab?: ObjectTab;
  /** The container whose log or terminal is shown. */
  readonly container?: string;
}

/** What the address of the logs of several pods has. */
export interface LogsSearch extends AppSearch {
  readonly labels?: string;
  /** The workload whose pods are read: "deployments/default/web". */
  readonly of?: string;
  readonly find?: string;
}

/** The parameters of an address, of which anything may have been typed. */
type Search = Readonly<Record<string, unknown>>;

/** Returns what every address can have. */
export const appSearch = (search: Search): AppSearch => texts(search, "ns");

/** Returns what the address of a table has. */
export const tableSearch = (search: Search): TableSearch =>
  texts(search, "labels", "fields", "filter", "q", "sort", "cols", "quick");

/** Returns what the address of an object has, without a tab that there is not. */
export function objectSearch(search: Search): ObjectSearch {
  const { tab, ...rest } = texts(search, "tab", "container");
  const known = objectTabs.find((each) => each === tab);
  return { ...rest, ...(known && { tab: known }) };
}

/** Returns what the address of logs has. */
export const logsSearch = (search: Search): LogsSearch => texts(search, "labels", "of", "find");

/** Returns the parameters of an address that are text. */
function texts<K extends string>(search: Search, ...keys: K[]): Partial<Record<K, string>> {
  const found: Partial<Record<K, string>> = {};
  for (const key of keys) {
    const value = search[key];
    if (typeof value === "string" || typeof value === "number") found[key] = String(value);
  }
  return found;
}
