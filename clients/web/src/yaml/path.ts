/** The place of a value in an object: names of fields, and positions in lists. */
export type Path = readonly (string | number)[];

/** Parses the path of a field in an error of the API server: "spec.containers[0].image". */
export function parsePath(text: string): Path {
  const path: (string | number)[] = [];
  for (const [, name, index] of text.matchAll(/([^.[\]]+)|\[([^\]]*)\]/g)) {
    if (name !== undefined) path.push(name);
    else if (index) path.push(/^\d+$/.test(index) ? Number(index) : index.replace(/^"|"$/g, ""));
  }
  return path;
}

/** Returns a path as people read it: "spec.containers[0].image". */
export function formatPath(path: Path): string {
  return path
    .map((each, index) => {
      if (typeof each === "number") return `[${each}]`;
      if (!/^[\w-]+$/.test(each)) return `["${each}"]`;
      return index === 0 ? each : `.${each}`;
    })
    .join("");
}

/** Whether the value is an object with fields. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
