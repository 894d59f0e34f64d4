import type { Client, KubeObject, ListOptions } from "@kubeconnect/client";
import { cellOf } from "../model/columns/cell.js";
import type { Column } from "../model/columns/column.js";
import { csv } from "../model/csv.js";
import { objectNameOf, type RowName } from "../model/rowselection.js";

/** The greatest number of objects in an exported file: a tab has them all in memory. */
export const exportLimits = { csv: 20_000, yaml: 2_000 } as const;

export type ExportFormat = keyof typeof exportLimits;

/** What to export: the objects of a list, or rows that are selected. */
export interface ExportSource {
  readonly resource: string;
  readonly options: ListOptions;
  readonly rows: readonly RowName[];
}

/** What has been exported. */
export interface Exported {
  readonly text: string;
  readonly count: number;
  /** Whether there were more objects than the limit. */
  readonly isCut: boolean;
}

/** Reads the objects to export, and returns the content of a file. */
export async function exportObjects(
  client: Client,
  source: ExportSource,
  format: ExportFormat,
  columns: readonly Column[],
  onProgress: (count: number) => void,
  signal: AbortSignal,
): Promise<Exported> {
  const fields = format === "csv" ? { fields: source.options.fields } : { fields: undefined };
  const options = { ...source.options, ...fields, pageSize: 500, signal };
  const objects: KubeObject[] = [];
  for await (const object of objectsOf(client, { ...source, options })) {
    if (objects.length === exportLimits[format]) {
      return { text: await textOf(objects, format, columns), count: objects.length, isCut: true };
    }
    objects.push(object);
    onProgress(objects.length);
  }
  return { text: await textOf(objects, format, columns), count: objects.length, isCut: false };
}

async function* objectsOf(client: Client, { resource, options, rows }: ExportSource) {
  if (rows.length === 0) {
    yield* client.list(resource, options);
    return;
  }
  const { fields, signal } = options;
  for (const row of rows) yield client.get(resource, objectNameOf(row), { fields, signal });
}

async function textOf(
  objects: readonly KubeObject[],
  format: ExportFormat,
  columns: readonly Column[],
): Promise<string> {
  if (format === "csv") return csvOf(objects, columns);
  const { stringify } = await import("yaml");
  return objects.map(({ value }) => stringify(value)).join("---\n");
}

/** Returns objects as CSV. Ages are exported as times. */
export function csvOf(objects: readonly KubeObject[], columns: readonly Column[]): string {
  const rows = objects.map((object) => columns.map((column) => cellOf(column, object).text));
  return csv([columns.map(({ title }) => title), ...rows]);
}

/** Lets the browser save a text as a file. */
export function saveFile(name: string, type: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => {
    URL.revokeObjectURL(address);
  });
}
