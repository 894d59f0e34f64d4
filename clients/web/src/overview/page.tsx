import { Link } from "@tanstack/react-router";
import { formatBytes, formatCpu, formatShare } from "../model/quantity.js";
import { objectParams } from "../model/resource.js";
import { useCatalog } from "../session/catalog.js";
import { useHealth } from "../session/connection.js";
import { useNamespace } from "../session/namespace.js";
import { Age, useNow } from "../ui/age.js";
import { Chip } from "../ui/chip.js";
import { Calm, Card } from "./card.js";
import { useEventResource } from "./eventresource.js";
import { headline } from "./headline.js";
import { fullness, nodeLoads, problemsOf, requestsOf, type NodeLoad } from "./nodes.js";
import styles from "./overview.module.css";
import { named, phaseTone, podReasons, reasonFilter } from "./pods.js";
import {
  useNamespaceRequests,
  useNewest,
  useNodes,
  usePods,
  useTroubledWorkloads,
  useWarnings,
} from "./reads.js";
import { groupWarnings, type WarningGroup } from "./warnings.js";
import { readyText, recentChanges, workloadReason } from "./workloads.js";

/** The maximum numbers of rows of a card. */
const maxRows = 8;

/** Whether the cluster, or the chosen namespace, is well, and what is not. */
export function OverviewPage() {
  const namespace = useNamespace();
  return (
    <div className={styles.page}>
      <h1>{namespace ? `Namespace ${namespace}` : "Cluster"}</h1>
      <Headline />
      <div className={styles.cards}>
        <Workloads />
        <Pods />
        <Warnings />
        <div className={styles.stack}>
          <Changes />
          <Capacity />
        </div>
        {!namespace && <Nodes />}
      </div>
    </div>
  );
}

/** The answer in one line. */
function Headline() {
  const workloads = useTroubledWorkloads();
  const pods = usePods();
  const { nodes, troubled } = useNodes();
  const { is } = useHealth();
  const reasons = podReasons(pods.waiting.groups, pods.failed.groups, pods.conditions.groups);
  const { namespaces } = useCatalog();
  const reads = [...workloads, pods.phases, troubled];
  const failed = reads.filter(({ error }) => error).length;
  const isPartial = failed > 0 || namespaces.length > 0;
  const { tone, text } = headline({
    isComplete: reads.every(({ loaded, error }) => loaded || error),
    readable: failed === reads.length ? "nothing" : isPartial ? "some" : "all",
    isCurrent: is === "live",
    workloads: workloads.reduce((sum, { total }) => sum + total, 0),
    podsWithReason: reasons.reduce((sum, { count }) => sum + count, 0),
    nodes: troubled.total,
    pods: pods.phases.total,
    allNodes: nodes.total,
  });
  return (
    <p className={styles.headline} data-tone={tone} role="status">
      {text}
    </p>
  );
}

function Workloads() {
  const reads = useTroubledWorkloads();
  const total = reads.reduce((sum, read) => sum + read.total, 0);
  const objects = reads.flatMap(({ items }) => items);
  return (
    <Card title="Workloads that are not ready" parts={reads}>
      {total === 0 && <Calm>All run as they should.</Calm>}
      <ul className={styles.rows}>
        {objects.slice(0, maxRows).map((object) => {
          const { plural, group, kind } = object.resource;
          return (
            <li key={`${plural} ${object.key}`}>
              <ObjectLink resource={`${plural}.${group}`} {...nameOf(object)} />
              <span className={styles.dim}>{kind}</span>
              <Chip tone="warn">{readyText(object.value)}</Chip>
              <span className={styles.reason}>{workloadReason(object.value)}</span>
            </li>
          );
        })}
      </ul>
      <More shown={Math.min(maxRows, objects.length)} total={total} />
    </Card>
  );
}

function nameOf({ namespace, name }: { readonly namespace: string; readonly name: string }) {
  return { namespace, name };
}

function Pods() {
  const { phases, waiting, failed, conditions } = usePods();
  const reasons = podReasons(waiting.groups, failed.groups, conditions.groups);
  return (
    <Card title="Pods" parts={[phases, waiting, failed, conditions]}>
      <ul className={styles.chips} aria-label="Pods by phase">
        {named(phases.groups).map(({ name, count }) => (
          <li key={name}>
            <Link
              to="/r/$resource"
              params={{ resource: "pods" }}
              search={{ fields: `status.phase=${name}` }}
            >
              <Chip tone={phaseTone(name)}>
                {name} <strong>{count.toLocaleString("en")}</strong>
              </Chip>
            </Link>
          </li>
        ))}
      </ul>
      {phases.total === 0 && <p className={styles.dim}>There are no pods.</p>}
      {phases.total !== 0 && reasons.length === 0 && <Calm>None is failing.</Calm>}
      <ul className={styles.rows} aria-label="Pods that fail, by reason">
        {reasons.slice(0, maxRows).map(({ name, count }) => (
          <li key={name}>
            <Link
              to="/r/$resource"
              params={{ resource: "pods" }}
              search={{ filter: reasonFilter(name) }}
            >
              {name}
            </Link>
            <span className={styles.number}>{count.toLocaleString("en")}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Warnings() {
  const reads = useWarnings();
  const [older, newer] = reads;
  const seen = new Set(newer.items.map(({ key }) => key));
  const events = [...newer.items, ...older.items.filter(({ key }) => !seen.has(key))];
  const groups = groupWarnings(events);
  return (
    <Card title="Latest warnings" parts={reads} wide>
      {groups.length === 0 && <Calm>There are no warnings.</Calm>}
      <ul className={styles.rows}>
        {groups.slice(0, maxRows).map((group) => (
          <Warning key={`${group.reason} ${group.kind}`} group={group} />
        ))}
      </ul>
      {groups.length > 0 && (
        <p className={styles.more}>
          <Link
            to="/r/$resource"
            params={{ resource: "events" }}
            search={{ fields: "type=Warning" }}
          >
            All warnings
          </Link>
        </p>
      )}
    </Card>
  );
}

function Warning({ group }: { readonly group: WarningGroup }) {
  const { reason, kind, count, objects, at, message, last } = group;
  const resource = useEventResource(last.apiVersion, kind);
  const { namespace = "", name = "" } = last;
  return (
    <li>
      <Chip tone="warn">{reason}</Chip>
      <span className={styles.dim}>
        {objects > 1 ? `${objects} objects of kind ${kind}` : kind}, {count.toLocaleString("en")}×
      </span>
      {resource ? <ObjectLink resource={resource} namespace={namespace} name={name} /> : name}
      <span className={styles.reason} title={message}>
        {message}
      </span>
      <span className={styles.age}>
        <Age since={at} />
      </span>
    </li>
  );
}

function Changes() {
  const reads = useNewest();
  const now = useNow();
  const changes = recentChanges(
    reads.flatMap(({ items }) => items),
    now,
  );
  return (
    <Card title="Changed in the last ten minutes" parts={reads}>
      {changes.length === 0 && <p className={styles.dim}>Nothing was created or rolled out.</p>}
      <ul className={styles.rows}>
        {changes.slice(0, maxRows).map(({ at, text, resource, namespace, name }) => (
          <li key={`${resource} ${namespace} ${name} ${at}`}>
            <ObjectLink resource={resource} namespace={namespace} name={name} />
            <span className={styles.reason}>{text}</span>
            <span className={styles.age}>
              <Age since={at} />
            </span>
          </li>
        ))}
      </ul>
      <More shown={Math.min(maxRows, changes.length)} total={changes.length} />
    </Card>
  );
}

function Nodes() {
  const { nodes, pods, troubled } = useNodes();
  const loads = nodeLoads(nodes.groups, pods.groups);
  return (
    <Card title="Nodes" parts={[nodes, troubled]}>
      {troubled.total === 0 && <Calm>All {nodes.total} are ready and without pressure.</Calm>}
      <ul className={styles.rows} aria-label="Nodes with problems">
        {troubled.items.map((node) => (
          <li key={node.name}>
            <ObjectLink resource="nodes" namespace="" name={node.name} />
            {problemsOf(node.value).map((problem) => (
              <Chip key={problem} tone={problem === "cordoned" ? "warn" : "bad"}>
                {problem}
              </Chip>
            ))}
          </li>
        ))}
      </ul>
      <table className={styles.table}>
        <thead>
          <tr>
            <th scope="col">Node</th>
            <th scope="col">CPU requested</th>
            <th scope="col">Memory requested</th>
            <th scope="col" className={styles.right}>
              Pods
            </th>
          </tr>
        </thead>
        <tbody>
          {loads.slice(0, maxRows).map((load) => (
            <NodeRow key={load.name} load={load} />
          ))}
        </tbody>
      </table>
      <More shown={Math.min(maxRows, loads.length)} total={loads.length} resource="nodes" />
    </Card>
  );
}

function NodeRow({ load }: { readonly load: NodeLoad }) {
  const { name, cpu, memory, allocatableCpu, allocatableMemory } = load;
  return (
    <tr data-full={fullness(load) >= 0.9 || undefined}>
      <th scope="row">
        <ObjectLink resource="nodes" namespace="" name={name} />
      </th>
      <td>
        <Bar part={cpu} whole={allocatableCpu} text={formatCpu} />
      </td>
      <td>
        <Bar part={memory} whole={allocatableMemory} text={formatBytes} />
      </td>
      <td className={styles.right}>{load.pods.toLocaleString("en")}</td>
    </tr>
  );
}

interface BarProps {
  readonly part: number;
  readonly whole: number;
  readonly text: (value: number) => string;
}

/** A part of a whole as a bar and in numbers. */
function Bar({ part, whole, text }: BarProps) {
  const percent = whole > 0 ? Math.min(100, (100 * part) / whole) : 0;
  return (
    <span className={styles.bar}>
      <span className={styles.track} aria-hidden="true">
        {percent > 0 && <span className={styles.fill} style={{ width: `${percent}%` }} />}
      </span>
      <span className={styles.share}>{formatShare(part, whole)}</span>
      <span className={styles.dim}>
        {text(part)} of {text(whole)}
      </span>
    </span>
  );
}

function Capacity() {
  const read = useNamespaceRequests();
  const requests = requestsOf(read.groups);
  return (
    <Card title="Requested by namespace" parts={[read]}>
      {requests.length === 0 && <p className={styles.dim}>No pod requests anything.</p>}
      {requests.length > 0 && (
        <table className={styles.table}>
          <thead>
            <tr>
              <th scope="col">Namespace</th>
              <th scope="col" className={styles.right}>
                CPU
              </th>
              <th scope="col" className={styles.right}>
                Memory
              </th>
              <th scope="col" className={styles.right}>
                Pods
              </th>
            </tr>
          </thead>
          <tbody>
            {requests.slice(0, maxRows).map(({ name, cpu, memory, pods }) => (
              <tr key={name}>
                <th scope="row">
                  <Link to="/" search={{ ns: name }}>
                    {name}
                  </Link>
                </th>
                <td className={styles.right}>{formatCpu(cpu)}</td>
                <td className={styles.right}>{formatBytes(memory)}</td>
                <td className={styles.right}>{pods.toLocaleString("en")}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      <More shown={Math.min(maxRows, requests.length)} total={requests.length} />
    </Card>
  );
}

/** How many rows are not shown. */
function More({
  shown,
  total,
  resource,
}: {
  readonly shown: number;
  readonly total: number;
  readonly resource?: string;
}) {
  if (total <= shown) return null;
  const text = `and ${(total - shown).toLocaleString("en")} more`;
  return (
    <p className={styles.more}>
      {resource ? (
        <Link to="/r/$resource" params={{ resource }}>
          {text}
        </Link>
      ) : (
        text
      )}
    </p>
  );
}

interface ObjectLinkProps {
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
}

/** A link to an object by its name, with its namespace if all are shown. */
function ObjectLink({ resource, namespace, name }: ObjectLinkProps) {
  const isOne = useNamespace() !== undefined;
  return (
    <Link
      to="/o/$resource/$namespace/$name"
      params={objectParams(resource, { namespace, name })}
      className={styles.object}
    >
      {namespace && !isOne && <span className={styles.dim}>{namespace}/</span>}
      {name}
    </Link>
  );
}
