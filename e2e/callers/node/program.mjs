// A Node.js program that reads, watches and changes objects of a cluster.
//
// node program.mjs PROTOCOL ADDRESS NAMESPACE [CA_FILE]
//
// It prints each step as a line of JSON.

import { readFileSync } from "node:fs";
import { Code, KubeconnectError, connect } from "@kubeconnect/client/node";
import { report } from "../report.mjs";

const replicas = 5;
const [protocol, address, namespace, caFile] = process.argv.slice(2);
const tls = caFile && { ca: readFileSync(caFile) };
const client = connect(address, { protocol, tls });
try {
  await listPods();
  await getSettings();
  await watchScaling();
  await keepNotes();
  await askForNobody();
  await scaleBelowNothing();
  await watchNothing();
} finally {
  client.close();
}

/** Lists the pods of one application, two per page. */
async function listPods() {
  const pods = client.list("po", { namespace, labelSelector: "app=web", pageSize: 2 });
  const names = [];
  const phases = new Set();
  for await (const pod of pods) {
    names.push(pod.name);
    phases.add(pod.value.status.phase);
  }
  const { objects } = await pods.all();
  report("listed", { names, total: objects.length, phases: [...phases].sort() });
}

/** Gets one object. */
async function getSettings() {
  const { uid, resourceVersion, value } = await client.get("configmaps", {
    namespace,
    name: "settings",
  });
  report("got", { uid, version: resourceVersion, data: value.data });
}

/** Scales a Deployment when the snapshot is complete, and waits for its pods. */
async function watchScaling() {
  const pods = new Map();
  for await (const event of client.watch("pods", { namespace, labelSelector: "app=web" })) {
    switch (event.type) {
      case "RESET":
        pods.clear();
        break;
      case "ADDED":
      case "MODIFIED":
        pods.set(event.object.name, event.object);
        break;
      case "DELETED":
        pods.delete(event.object.name);
        break;
      case "SYNCED":
        report("before", { names: [...pods.keys()].sort() });
        await scale();
    }
    if (pods.size === replicas) break;
  }
  report("after", { names: [...pods.keys()].sort() });
}

/** Patches a Deployment. */
async function scale() {
  const { object } = await client.patch(
    "deployments.apps",
    { namespace, name: "web" },
    { type: "merge", body: { spec: { replicas } }, fieldManager: "a-node-program" },
  );
  report("patched", { version: object.resourceVersion, replicas: object.value.spec.replicas });
}

/** Creates an object, updates it, updates it from an outdated version, and deletes it. */
async function keepNotes() {
  const notes = { metadata: { name: "notes" }, data: { text: "first" } };
  const { object: first } = await client.create("configmaps", notes, { namespace });
  report("created", written(first));
  const changed = { ...first.value, data: { text: "second" } };
  const { object: second } = await client.update("configmaps", changed);
  report("updated", written(second));
  const outdated = client.update("configmaps", { ...first.value, data: { text: "third" } });
  report("outdated", await rejection(Code.Aborted, outdated));
  const { object: left } = await client.delete("configmaps", first, { uid: first.uid });
  report("deleted", { gone: left === undefined });
}

/** Returns the reported fields of a written object. */
function written({ uid, resourceVersion, value }) {
  return { uid, version: resourceVersion, data: value.data };
}

/** Gets an object that does not exist. */
async function askForNobody() {
  const nobody = client.get("configmaps", { namespace, name: "nobody" });
  report("missing", await rejection(Code.NotFound, nobody));
}

/** Patches with an invalid value. */
async function scaleBelowNothing() {
  const patch = { type: "merge", body: { spec: { replicas: -1 } } };
  const patched = client.patch("deploy", { namespace, name: "web" }, patch);
  report("refused", await rejection(Code.InvalidArgument, patched));
}

/** Watches a resource that the cluster does not serve. */
async function watchNothing() {
  const first = client.watch("nothings").batches().next();
  report("unwatched", await rejection(Code.NotFound, first));
}

/** Returns the fields of the error of a call. Throws if the call does not fail with this code. */
async function rejection(code, call) {
  const error = await call.then(
    () => undefined,
    (error) => error,
  );
  if (!(error instanceof KubeconnectError) || error.code !== code) {
    throw new Error(`the call did not fail with code ${Code[code]}`, { cause: error });
  }
  const { reason, message, causes, requestId } = error;
  const fields = [...new Set(causes.map(({ field }) => field))].sort();
  return { reason, message, fields, requestId };
}
