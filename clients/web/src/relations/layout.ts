import { Graph as DagreGraph, layout } from "@dagrejs/dagre";
import type { Graph } from "./graph.js";

export const nodeSize = { width: 210, height: 54 } as const;

/** Where the parts of a graph are, in pixels from the left and the top. */
export interface Layout {
  readonly width: number;
  readonly height: number;
  /** The middle of each node, by its id. */
  readonly places: ReadonlyMap<string, Point>;
  /** The arrows as paths of SVG. */
  readonly paths: readonly { readonly key: string; readonly path: string }[];
}

interface Point {
  readonly x: number;
  readonly y: number;
}

/** Places the nodes in columns, so that all arrows lead to the right. */
export function layoutOf({ nodes, edges }: Pick<Graph, "nodes" | "edges">): Layout {
  const dagre = new DagreGraph();
  dagre.setGraph({ rankdir: "LR", nodesep: 12, ranksep: 70, marginx: 16, marginy: 16 });
  dagre.setDefaultEdgeLabel(() => ({}));
  for (const { id } of nodes) dagre.setNode(id, { ...nodeSize });
  for (const { from, to } of edges) dagre.setEdge(from, to);
  layout(dagre);
  const { width = 0, height = 0 } = dagre.graph() as { width?: number; height?: number };
  const places = new Map<string, Point>(
    nodes.map(({ id }) => {
      const { x, y } = dagre.node(id) as Point;
      return [id, { x, y }];
    }),
  );
  const paths = edges.map(({ from, to }) => ({
    key: `${from} ${to}`,
    path: pathBetween(places.get(from), places.get(to)),
  }));
  return { width, height, places, paths };
}

/** Returns a curve from the right side of a node to the left side of another one. */
function pathBetween(from: Point = { x: 0, y: 0 }, to: Point = { x: 0, y: 0 }): string {
  const [x1, x2] = [from.x + nodeSize.width / 2, to.x - nodeSize.width / 2 - 5];
  const bend = Math.max(24, (x2 - x1) / 2);
  return `M ${x1} ${from.y} C ${x1 + bend} ${from.y}, ${x2 - bend} ${to.y}, ${x2} ${to.y}`;
}
