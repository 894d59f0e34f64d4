import type { Client, KubeObject } from "@kubeconnect/client";
import { useClient } from "@kubeconnect/client/react";
import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { resourceName } from "../model/resource.js";
import { Button } from "../ui/button.js";
import { Notice } from "../ui/notice.js";
import { GraphFeed } from "./feed.js";
import type { Graph } from "./graph.js";
import { GraphView } from "./graphview.js";
import { NodeLink } from "./node.js";
import type { KindInfo, Kinds } from "./questions.js";
import styles from "./relations.module.css";

/** What an object is related to, live, as a graph or as lists. */
export function RelationsTab({ object }: { readonly object: KubeObject }) {
  const kinds = useKinds();
  return kinds && <Relations key={object.uid} object={object} kinds={kinds} />;
}

const small = "(max-width: 800px)";

function Relations({ object, kinds }: { readonly object: KubeObject; readonly kinds: Kinds }) {
  const client = useClient();
  const [feed] = useState(() => new GraphFeed(client, object, kinds));
  useEffect(() => {
    feed.update(object);
  }, [feed, object]);
  const { graph, loaded, stale } = useSyncExternalStore(feed.subscribe, feed.getSnapshot);
  const [isList, setIsList] = useState(() => window.matchMedia(small).matches);
  return (
    <section className={styles.tab} aria-label="Relations">
      <div className={styles.bar}>
        <p className={styles.dim} aria-live="polite">
          {loaded ? countText(graph.nodes.length - 1) : "Reading the related objects…"}
        </p>
        <Button
          aria-pressed={isList}
          onClick={() => {
            setIsList(!isList);
          }}
        >
          {isList ? "Show as graph" : "Show as lists"}
        </Button>
      </div>
      {stale && (
        <Notice tone="warn" title="These objects may be out of date">
          <span>The cluster, or the service, is unreachable at present.</span>
        </Notice>
      )}
      {graph.failures.length > 0 && <Failures failures={graph.failures} />}
      {isList ? <Lists graph={graph} /> : <GraphView graph={graph} />}
    </section>
  );
}

/** Says which kinds cannot be read. Why is shown on demand: the graph needs the place. */
function Failures({ failures }: { readonly failures: readonly string[] }) {
  const kinds = failures.map((failure) => failure.split(":", 1).join(""));
  return (
    <Notice title={`These kinds cannot be read: ${kinds.join(", ")}`}>
      <details>
        <summary>Why</summary>
        {failures.map((failure) => (
          <p key={failure}>{failure}</p>
        ))}
      </details>
    </Notice>
  );
}

function countText(count: number): string {
  if (count === 0) return "No related objects";
  return `${count} related ${count === 1 ? "object" : "objects"}`;
}

/** The related objects by their relation. */
function Lists({ graph }: { readonly graph: Graph }) {
  const groups = useMemo(() => {
    const related = graph.nodes.filter(({ relation }) => relation !== "");
    const relations = [...new Set(related.map(({ relation }) => relation))];
    return relations.map((relation) => ({
      relation,
      nodes: related.filter((node) => node.relation === relation),
    }));
  }, [graph.nodes]);
  return (
    <div className={styles.lists}>
      {groups.map(({ relation, nodes }) => (
        <section key={relation} aria-label={relation}>
          <h3>{relation}</h3>
          <ul className={styles.list}>
            {nodes.map((node) => (
              <li key={node.id} className={styles.item} data-tone={node.status.tone}>
                <NodeLink node={node} />
              </li>
            ))}
          </ul>
        </section>
      ))}
    </div>
  );
}

const known = new WeakMap<Client, Promise<Kinds>>();

/** The kinds of the cluster, which are read once; undefined until then. */
function useKinds(): Kinds | undefined {
  const client = useClient();
  const [kinds, setKinds] = useState<{ readonly of: Kinds }>();
  useEffect(() => {
    let isLeft = false;
    const reading = known.get(client) ?? readKinds(client);
    known.set(client, reading);
    void reading.then((of) => {
      if (!isLeft) setKinds({ of });
    });
    return () => {
      isLeft = true;
    };
  }, [client]);
  return kinds?.of;
}

/** Reads the kinds. Without them, owners have no links. */
async function readKinds(client: Client): Promise<Kinds> {
  const infos = new Map<string, KindInfo>();
  try {
    const { types } = await client.resourceTypes();
    for (const { resource } of types) {
      const info = { resource: resourceName(resource), namespaced: resource.namespaced };
      infos.set(`${resource.group} ${resource.kind}`, info);
    }
  } catch {
    known.delete(client);
  }
  return (apiVersion, kind) => {
    const group = apiVersion.includes("/") ? apiVersion.split("/")[0] : "";
    return infos.get(`${group ?? ""} ${kind}`);
  };
}
