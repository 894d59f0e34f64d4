import {
  isCollection,
  isMap,
  isNode,
  isPair,
  isScalar,
  isSeq,
  type Document,
  type Node,
} from "yaml";
import type { Path } from "./path.js";

/** A part of a text, by its offsets. */
export interface TextRange {
  readonly from: number;
  readonly to: number;
}

/** Returns where a path is in the text of a document: its field's name, or the nearest parent's. */
export function rangeOfPath(document: Document, path: Path): TextRange {
  let range: TextRange = { from: 0, to: 0 };
  let node: unknown = document.contents;
  for (const segment of path) {
    const child = childOf(node, segment);
    if (!child) break;
    range = rangeOfNode(child.name) ?? range;
    node = child.value;
  }
  return range;
}

interface Child {
  /** The node that is marked: the name of a field, or an item of a list. */
  readonly name: unknown;
  readonly value: unknown;
}

function childOf(node: unknown, segment: string | number): Child | undefined {
  if (isMap(node)) {
    const pair = node.items.find(
      ({ key }) => isScalar(key) && String(key.value) === String(segment),
    );
    return pair && { name: pair.key, value: pair.value };
  }
  if (isSeq(node)) {
    const item = typeof segment === "number" ? node.items[segment] : itemNamed(node.items, segment);
    return item === undefined ? undefined : { name: firstLine(item), value: item };
  }
  return undefined;
}

function itemNamed(items: readonly unknown[], name: string): unknown {
  return items.find((each) => isMap(each) && each.get("name") === name);
}

/** Returns what stands in the first line of an item. */
function firstLine(item: unknown): unknown {
  return isMap(item) && item.items[0] ? item.items[0].key : item;
}

function rangeOfNode(node: unknown): TextRange | undefined {
  const range = isNode(node) ? node.range : undefined;
  return range ? { from: range[0], to: range[1] } : undefined;
}

/** Calls a function for each field of a document, with the path of its value. */
export function visitFields(
  document: Document,
  visitor: (path: Path, value: Node | null, name: TextRange) => void,
): void {
  const visitNode = (node: unknown, path: Path): void => {
    if (!isCollection(node)) return;
    node.items.forEach((item, index) => {
      if (!isPair(item)) {
        visitNode(item, [...path, index]);
        return;
      }
      const at = [...path, isScalar(item.key) ? String(item.key.value) : ""];
      const value = isNode(item.value) ? item.value : null;
      visitor(at, value, rangeOfNode(item.key) ?? { from: 0, to: 0 });
      visitNode(value, at);
    });
  };
  visitNode(document.contents, []);
}
