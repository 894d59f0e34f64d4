import { parsePath, textOf, valuesAt } from "../path.js";
import { type Cell, type Column } from "./column.js";

/** The title for a path: its last field, in words. */
function titleOf(path: string): string {
  const last = (parsePath(path) ?? []).findLast((step) => step !== "each");
  return last?.field ?? path;
}

interface PathColumn {
  readonly title?: string;
  readonly width?: number;
  readonly numeric?: boolean;
  readonly optional?: boolean;
  /** What is shown for an object without a value. */
  readonly missing?: string;
  readonly id?: string;
}

/** A column with the values of one path. */
export function pathColumn(path: string, options: PathColumn = {}): Column {
  const { title = titleOf(path), width = 120, missing = "", id = path, ...rest } = options;
  const steps = parsePath(path) ?? [];
  return {
    id,
    title,
    width,
    paths: [path],
    ...(!steps.includes("each") && { sortPath: path }),
    cell: (object) => ({ text: textOf(valuesAt(object, steps)) || missing }),
    ...rest,
  };
}

/** A column with a time as the age. */
export function ageColumn(
  path = "metadata.creationTimestamp",
  { id = "age", title = "Age", width = 64, optional = false } = {},
): Column {
  const steps = parsePath(path) ?? [];
  const cell = (object: unknown): Cell => {
    const [since] = valuesAt(object, steps);
    return typeof since === "string" ? { text: since, since } : { text: "" };
  };
  return {
    id,
    title,
    width,
    paths: [path],
    sortPath: path,
    reversed: true,
    numeric: true,
    cell,
    optional,
  };
}

export const nameColumn: Column = {
  id: "name",
  title: "Name",
  width: 220,
  paths: ["metadata.name"],
  sortPath: "metadata.name",
  cell: (object) => ({ text: object.metadata.name }),
};

export const namespaceColumn: Column = {
  id: "namespace",
  title: "Namespace",
  width: 120,
  paths: ["metadata.namespace"],
  sortPath: "metadata.namespace",
  cell: (object) => ({ text: object.metadata.namespace ?? "" }),
};

export const labelsColumn: Column = {
  id: "labels",
  title: "Labels",
  width: 260,
  paths: ["metadata.labels"],
  optional: true,
  cell: ({ metadata }) => ({
    text: Object.entries(metadata.labels ?? {})
      .map(([key, value]) => `${key}=${value}`)
      .join(", "),
  }),
};
