import type { KubeValue } from "@kubeconnect/client";
import { parsePath, textOf, valuesAt } from "../path.js";
import { ageColumn, pathColumn } from "./common.js";
import { fieldsOf, listOf, specOf, stringOf, type Column, type Fields } from "./column.js";

/** Returns the columns of the objects of a version of a CustomResourceDefinition. */
export function printerColumns(definition: KubeValue, version: string): readonly Column[] {
  const versions = listOf(specOf(definition).versions);
  const served = versions.find(({ name }) => name === version) ?? versions[0];
  const printed = listOf(served?.additionalPrinterColumns).flatMap(printerColumn);
  const hasAge = printed.some(({ paths }) => paths[0] === "metadata.creationTimestamp");
  return hasAge ? printed : [...printed, ageColumn()];
}

/** Returns the column of a path. There is none for a path that the service cannot select. */
function printerColumn(column: Fields): readonly Column[] {
  const path = stringOf(column.jsonPath).replace(/^\./, "");
  const condition = conditionColumn(column, path);
  if (condition) return [condition];
  if (!parsePath(path)) return [];
  const title = stringOf(column.name);
  const id = idOf(title);
  const optional = numberOfPriority(column) > 0;
  if (column.type === "date") return [ageColumn(path, { id, title, width: 78, optional })];
  const numeric = column.type === "integer" || column.type === "number";
  return [pathColumn(path, { id, title, numeric, optional, width: numeric ? 84 : 130 })];
}

const conditionPath = /^(.+)\[\?\(@\.type\s*==\s*["'](\w+)["']\)\]\.(\w+)$/;

/** Returns the column of a field of one condition, the filter that printer columns mostly have. */
function conditionColumn(column: Fields, path: string): Column | undefined {
  const [, list = "", type = "", field = ""] = conditionPath.exec(path) ?? [];
  const steps = parsePath(`${list}[*]`);
  if (!list || !steps) return undefined;
  const title = stringOf(column.name);
  return {
    id: idOf(title),
    title,
    width: 110,
    optional: numberOfPriority(column) > 0,
    paths: [`${list}[*].type`, `${list}[*].${field}`],
    cell: (object) => {
      const condition = valuesAt(object, steps)
        .map(fieldsOf)
        .find((each) => each.type === type);
      return { text: textOf([condition?.[field] ?? ""]) };
    },
  };
}

function numberOfPriority({ priority }: Fields): number {
  return typeof priority === "number" ? priority : 0;
}

function idOf(title: string): string {
  return title.toLowerCase().replace(/[^a-z0-9]+/g, "-");
}
