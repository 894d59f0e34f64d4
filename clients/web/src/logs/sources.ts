/** The number of colors of containers, which styles of the log view define. */
export const colorCount = 8;

/**
 * Returns the color of a container, the same in each view. Containers of a short list get different
 * colors as far as there are enough.
 */
export function colorsOf(sources: readonly string[]): ReadonlyMap<string, number> {
  const colors = new Map<string, number>();
  const taken = new Set<number>();
  for (const source of sources) {
    let color = hashOf(source) % colorCount;
    while (taken.has(color) && taken.size < colorCount) color = (color + 1) % colorCount;
    taken.add(color);
    colors.set(source, color);
  }
  return colors;
}

function hashOf(text: string): number {
  let hash = 0;
  for (const char of text) hash = (hash * 31 + (char.codePointAt(0) ?? 0)) >>> 0;
  return hash;
}

/**
 * Returns the short labels of containers: without what they all have in common. Those of one pod are
 * named by container, those of pods with one container each by the last part of the pod's name.
 */
export function labelsOf(sources: readonly string[]): ReadonlyMap<string, string> {
  const pods = new Set(sources.map(podOf));
  const containers = new Set(sources.map(containerOf));
  return new Map(
    sources.map((source) => {
      if (pods.size === 1) return [source, containerOf(source)];
      const pod = podOf(source).slice(commonPrefix([...pods]).length);
      return [source, containers.size === 1 ? pod : `${pod}/${containerOf(source)}`];
    }),
  );
}

const longestName = 16;

/** Returns how many characters the column of the labels has, so that most of them fit. */
export function nameColumns(labels: ReadonlyMap<string, string>): number {
  return Math.min(longestName, Math.max(0, ...[...labels.values()].map(({ length }) => length)));
}

const podOf = (source: string): string => source.split("/")[0] ?? source;
const containerOf = (source: string): string => source.split("/")[1] ?? source;

/** Returns what all names begin with, up to a "-". */
function commonPrefix([first = "", ...others]: readonly string[]): string {
  const parts = first.split("-");
  for (let length = parts.length - 1; length > 0; length--) {
    const prefix = `${parts.slice(0, length).join("-")}-`;
    if (others.every((name) => name.startsWith(prefix) && name.length > prefix.length))
      return prefix;
  }
  return "";
}

/** Returns the text of a file with the lines, each with its time and container. */
export function fileText(
  rows: readonly { kind: string; source: string; text: string; timestamp?: string }[],
): string {
  const lines = rows
    .filter(({ kind }) => kind === "line")
    .map(({ timestamp = "", source, text }) => `${timestamp} ${source} ${text}\n`);
  return lines.join("");
}
