import type { KubeObject } from "@kubeconnect/client";
import type { Cell, Column } from "./column.js";

/** Returns the cell of an object. An object that the service could not read has only its name. */
export function cellOf(column: Column, object: KubeObject): Cell {
  try {
    return column.cell(object.value);
  } catch {
    const { name, namespace } = object;
    const known: Record<string, string> = { name, namespace };
    return { text: known[column.id] ?? "" };
  }
}
