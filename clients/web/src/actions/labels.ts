import { isLabelName, isLabelValue } from "../model/labelsyntax.js";

/** The labels to set, and with null those to remove. */
export interface LabelChanges {
  readonly changes: Readonly<Record<string, string | null>>;
  /** What is wrong with the text. */
  readonly problem?: string;
}

/** Returns how labels, one in a line, differ from those that an object has. */
export function parseLabels(text: string, before: Readonly<Record<string, string>>): LabelChanges {
  const after: Record<string, string> = {};
  for (const line of text.split("\n").map((each) => each.trim())) {
    if (!line) continue;
    const at = line.indexOf("=");
    const [name, value] = at < 0 ? [line, ""] : [line.slice(0, at), line.slice(at + 1)];
    if (!isLabelName(name)) return { changes: {}, problem: `"${name}" is not the name of a label` };
    if (!isLabelValue(value))
      return { changes: {}, problem: `"${value}" is not the value of a label` };
    after[name] = value;
  }
  const set = Object.entries(after).filter(([name, value]) => before[name] !== value);
  const removed = Object.keys(before).filter((name) => !(name in after));
  return { changes: Object.fromEntries([...set, ...removed.map((name) => [name, null] as const)]) };
}
