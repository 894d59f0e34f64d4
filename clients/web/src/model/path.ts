/** One step of a path: a field, or each element of a list or object. */
export type Step = { readonly field: string } | "each";

const steps = /\.?([^.[\]{}'"\s,]+)|\[\s*(?:'([^']*)'|"([^"]*)"|(\*))\s*\]/y;

/**
 * Parses a path in kubectl's notation: "spec.containers[*].image",
 * "metadata.labels['app.kubernetes.io/name']". A leading "." or "$" and braces around it are
 * optional, as in the API. Returns undefined for what is not such a path.
 */
export function parsePath(text: string): readonly Step[] | undefined {
  const path = text
    .trim()
    .replace(/^\{(.*)\}$/, "$1")
    .replace(/^\$/, "");
  const found: Step[] = [];
  for (let at = 0; at < path.length; at = steps.lastIndex) {
    steps.lastIndex = at;
    const match = steps.exec(path);
    if (!match || (match[1] !== undefined && at > 0 && path[at] !== ".")) return undefined;
    found.push(
      match[4] ? "each" : { field: match[1]?.replaceAll("\\", "") ?? match[2] ?? match[3] ?? "" },
    );
  }
  return found.length > 0 ? found : undefined;
}

/** Returns the values of an object at a path, without those that are missing. */
export function valuesAt(object: unknown, path: readonly Step[]): readonly unknown[] {
  return path.reduce<readonly unknown[]>((values, step) => values.flatMap(next(step)), [object]);
}

function next(step: Step): (value: unknown) => readonly unknown[] {
  return (value) => {
    if (typeof value !== "object" || value === null) return [];
    if (step === "each") return Object.values(value) as unknown[];
    if (!Object.hasOwn(value, step.field)) return [];
    const found = (value as Record<string, unknown>)[step.field];
    return found === undefined || found === null ? [] : [found];
  };
}

/** Returns the values of a path as one text. */
export function textOf(values: readonly unknown[]): string {
  return values
    .map((value) => (typeof value === "string" ? value : JSON.stringify(value)))
    .join(", ");
}
