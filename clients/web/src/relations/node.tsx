import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { GraphNode } from "./graph.js";
import styles from "./relations.module.css";

/** A node's kind, name and state, as a link to the object, or to the table with the rest. */
export function NodeLink({
  node,
  isRoot,
}: {
  readonly node: GraphNode;
  readonly isRoot?: boolean;
}) {
  return (
    <NodeFrame node={node}>
      <span className={styles.kind}>
        {node.kind}
        {isRoot && <span className="visually-hidden"> (this object)</span>}
      </span>
      <span className={styles.name} title={node.name}>
        {node.name}
      </span>
      {node.status.text && (
        <span className={styles.status} data-tone={node.status.tone}>
          {node.status.text}
        </span>
      )}
    </NodeFrame>
  );
}

function NodeFrame({ node, children }: { readonly node: GraphNode; readonly children: ReactNode }) {
  const { params, table } = node;
  if (params) {
    return (
      <Link
        to="/o/$resource/$namespace/$name"
        params={params}
        search={{ tab: "relations" }}
        className={styles.link}
        draggable={false}
      >
        {children}
      </Link>
    );
  }
  if (!table) return <span className={styles.link}>{children}</span>;
  return (
    <Link
      to="/r/$resource"
      params={{ resource: table.resource }}
      search={table.search}
      className={styles.link}
      draggable={false}
    >
      {children}
    </Link>
  );
}
