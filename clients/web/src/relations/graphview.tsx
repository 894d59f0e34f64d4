import { useEffect, useId, useMemo, useRef, useState, type PointerEvent } from "react";
import { Button } from "../ui/button.js";
import type { Graph } from "./graph.js";
import { layoutOf, nodeSize, type Layout } from "./layout.js";
import { NodeLink } from "./node.js";
import styles from "./relations.module.css";

/** Which part of the graph is visible. */
interface View {
  readonly x: number;
  readonly y: number;
  readonly scale: number;
}

/**
 * The graph. It is moved by dragging, and by the scroll bars' keys when a node has the focus; it is
 * zoomed by buttons, or by the wheel with Ctrl: the wheel alone scrolls the page.
 */
export function GraphView({ graph }: { readonly graph: Graph }) {
  const layout = useMemo(() => layoutOf(graph), [graph]);
  const frame = useRef<HTMLDivElement>(null);
  const { view, zoom, fit, drag } = useView(frame, layout);
  const arrow = useId();
  const { width, height, paths, places } = layout;
  const [root] = graph.nodes;
  // The order of the tab key is that of reading: by column, then from the top.
  const nodes = useMemo(
    () => graph.nodes.toSorted((a, b) => order(places.get(a.id), places.get(b.id))),
    [graph.nodes, places],
  );
  return (
    <div className={styles.canvas}>
      <div ref={frame} className={styles.frame} {...drag}>
        <div
          className={styles.stage}
          style={{
            width,
            height,
            transform: `translate(${view.x}px, ${view.y}px) scale(${view.scale})`,
          }}
        >
          <svg className={styles.edges} width={width} height={height} aria-hidden="true">
            <defs>
              <marker
                id={arrow}
                viewBox="0 0 6 6"
                refX="5"
                refY="3"
                markerWidth="6"
                markerHeight="6"
                orient="auto"
              >
                <path d="M 0 0 L 6 3 L 0 6 z" className={styles.head} />
              </marker>
            </defs>
            {paths.map(({ key, path }) => (
              <path key={key} d={path} className={styles.edge} markerEnd={`url(#${arrow})`} />
            ))}
          </svg>
          <ul className={styles.nodes} aria-label="Related objects">
            {nodes.map((node) => {
              const { x, y } = places.get(node.id) ?? { x: 0, y: 0 };
              return (
                <li
                  key={node.id}
                  className={styles.node}
                  data-root={node === root}
                  data-tone={node.status.tone}
                  style={{
                    left: x - nodeSize.width / 2,
                    top: y - nodeSize.height / 2,
                    ...nodeSize,
                  }}
                >
                  <NodeLink node={node} isRoot={node === root} />
                </li>
              );
            })}
          </ul>
        </div>
      </div>
      <div className={styles.zoom} role="toolbar" aria-label="Zoom">
        <Button
          aria-label="Zoom out"
          onClick={() => {
            zoom(0.8);
          }}
        >
          −
        </Button>
        <Button
          aria-label="Zoom in"
          onClick={() => {
            zoom(1.25);
          }}
        >
          +
        </Button>
        <Button onClick={fit}>Fit</Button>
      </div>
    </div>
  );
}

function order(a = { x: 0, y: 0 }, b = { x: 0, y: 0 }): number {
  return a.x - b.x || a.y - b.y;
}

const leastScale = 0.3;
const mostScale = 2;

/** The visible part: all of the graph, until the user moves or zooms it. */
function useView(frame: { readonly current: HTMLDivElement | null }, layout: Layout) {
  const [moved, setMoved] = useState<View>();
  const [fitted, setFitted] = useState<View>({ x: 0, y: 0, scale: 1 });
  const grip = useRef<{ readonly x: number; readonly y: number }>(undefined);
  const { width, height } = layout;
  useEffect(() => {
    const element = frame.current;
    if (!element) return;
    const observer = new ResizeObserver(() => {
      setFitted(fittedView(element, width, height));
    });
    observer.observe(element);
    return () => {
      observer.disconnect();
    };
  }, [frame, width, height]);
  const view = moved ?? fitted;
  const zoom = (factor: number) => {
    const { clientWidth = 0, clientHeight = 0 } = frame.current ?? {};
    setMoved(zoomed(view, factor, clientWidth / 2, clientHeight / 2));
  };
  useEffect(() => {
    const element = frame.current;
    const onWheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.metaKey) return;
      event.preventDefault();
      const { left, top } = (event.currentTarget as HTMLElement).getBoundingClientRect();
      const factor = event.deltaY < 0 ? 1.1 : 1 / 1.1;
      setMoved(zoomed(view, factor, event.clientX - left, event.clientY - top));
    };
    element?.addEventListener("wheel", onWheel, { passive: false });
    return () => element?.removeEventListener("wheel", onWheel);
  }, [frame, view]);
  const drag = {
    onPointerDown: (event: PointerEvent<HTMLDivElement>) => {
      if (event.button !== 0 || (event.target as Element).closest("a")) return;
      event.currentTarget.setPointerCapture(event.pointerId);
      grip.current = { x: event.clientX - view.x, y: event.clientY - view.y };
    },
    onPointerMove: (event: PointerEvent<HTMLDivElement>) => {
      const held = grip.current;
      if (held) setMoved({ ...view, x: event.clientX - held.x, y: event.clientY - held.y });
    },
    onPointerUp: () => {
      grip.current = undefined;
    },
    onPointerCancel: () => {
      grip.current = undefined;
    },
  };
  const fit = () => {
    setMoved(undefined);
  };
  return { view, zoom, fit, drag };
}

/** Returns the view that shows all of the graph in the middle, not enlarged. */
function fittedView(element: HTMLElement, width: number, height: number): View {
  const { clientWidth, clientHeight } = element;
  const wanted = Math.min(1, clientWidth / width, clientHeight / height);
  const scale = Math.max(leastScale, wanted);
  return {
    scale,
    x: Math.max(0, (clientWidth - width * scale) / 2),
    y: Math.max(0, (clientHeight - height * scale) / 2),
  };
}

/** Returns the view that is zoomed around a point. */
function zoomed(view: View, factor: number, x: number, y: number): View {
  const scale = Math.min(mostScale, Math.max(leastScale, view.scale * factor));
  const ratio = scale / view.scale;
  return { scale, x: x - (x - view.x) * ratio, y: y - (y - view.y) * ratio };
}
