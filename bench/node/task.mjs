/**
 * What the programs of this folder share: their arguments, and the tasks that are measured.
 *
 * node PROGRAM.mjs list|watch|store KUBECONFIG ADDRESS CA_FILE NAMESPACE PODS [CHANGES ...]
 *
 * Each program uses one client. The namespace has PODS pods, and a watch reports after each number
 * of CHANGES. A program prints lines of JSON, and runs until SIGTERM, so that its memory can be read.
 */
import { writeSync } from "node:fs";
import { crc32 } from "node:zlib";

/** The annotation that the bench changes. */
export const CHANGED = "bench.example.com/change";

/** A namespace without pods. */
const EMPTY = "empty";

/** The time after which a program ends itself, in case that the bench was killed. */
const MAX_MILLISECONDS = 600_000;

/**
 * Where the API server and the service are.
 *
 * @typedef {{ kubeconfig: string, address: string, caFile: string }} Cluster
 */

/**
 * What each program reads of a pod.
 *
 * @typedef {{ name: string, change: string, node: string, phase: string, images: string[] }} Pod
 */

/**
 * The tasks of one client. `watchPods` reads each pod of the first snapshot, and then each changed
 * pod. `storePods` calls a handler with the node of each added, and of each changed pod; the function
 * that it returns reads each pod of the store.
 *
 * @typedef {{
 *   connect(cluster: Cluster): unknown,
 *   listPods(client: unknown, namespace: string): Promise<Pod[]>,
 *   watchPods(client: unknown, namespace: string, onPod: (pod: Pod) => void): Promise<unknown>,
 *   storePods(
 *     client: unknown,
 *     namespace: string,
 *     onAdd: (node: string) => void,
 *     onChange: (node: string) => void,
 *   ): () => Pod[],
 * }} Program
 */

/**
 * Runs the task of the command line.
 *
 * @param {Program} program
 */
export async function run(program) {
  setTimeout(() => process.exit(1), MAX_MILLISECONDS);
  report({ imported: process.memoryUsage.rss() });
  const [task, kubeconfig, address, caFile, namespace, pods, ...changes] = process.argv.slice(2);
  const client = program.connect({ kubeconfig, address, caFile });
  if (task === "list") await measureList(program, client, namespace);
  if (task === "watch") {
    await measureWatch(program, client, namespace, Number(pods), changes.map(Number));
  }
  if (task === "store") measureStore(program, client, namespace, Number(pods));
}

/** Reports the CPU time of a list. The connection is opened by a list without pods. */
async function measureList(program, client, namespace) {
  await program.listPods(client, EMPTY);
  const elapsed = cpuTimer();
  const pods = await program.listPods(client, namespace);
  report({ cpu: elapsed(), ...content(pods) });
}

/** Reports when all pods were received, and then the CPU time of each part of the changes. */
async function measureWatch(program, client, namespace, pods, parts) {
  let received = [];
  let expected = pods;
  let synced = false;
  let elapsed = cpuTimer();
  await program.watchPods(client, namespace, (pod) => {
    received.push(pod);
    if (received.length < expected) return;
    const cpu = elapsed();
    report(synced ? { cpu, ...content(received) } : { synced: true });
    synced = true;
    [received, expected] = [[], parts.shift() ?? Infinity];
    elapsed = cpuTimer();
  });
}

/**
 * Reports when all pods were received, with the CPU time until then, and at the end the handled
 * changes and the content.
 */
function measureStore(program, client, namespace, pods) {
  let [added, handled] = [0, 0];
  const elapsed = cpuTimer();
  const onAdd = () => {
    if (++added === pods) report({ synced: true, cpu: elapsed() });
  };
  const stored = program.storePods(client, namespace, onAdd, () => handled++);
  process.once("SIGTERM", () => {
    report({ changes: handled, ...content(stored()) });
    process.exit();
  });
}

/** Returns a function that returns the seconds of CPU time of this process since then. */
function cpuTimer() {
  const begin = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(begin);
    return (user + system) / 1e6;
  };
}

/** Returns the number of pods, and a checksum of what was read, whose order does not matter. */
function content(pods) {
  const checksums = pods.map(({ name, node, phase, images }) =>
    crc32([name, node, phase, ...images].join(" ")),
  );
  return { count: pods.length, checksum: checksums.reduce((sum, each) => sum + each, 0) };
}

/** Prints a line for the bench, before the process can end. */
function report(values) {
  writeSync(1, JSON.stringify(values) + "\n");
}
