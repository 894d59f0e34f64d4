// What a program in Node.js does with a cluster: it reads, watches and changes it.
//
// node program.mjs PROTOCOL ADDRESS NAMESPACE [CA_FILE]
//
// Each step is told as a line of JSON.

import { readFileSync } from "node:fs";
import { Code, KubeconnectError, connect } from "@kubeconnect/client/node";
import { tell } from "../tell.mjs";

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
} finally {
  client.close();
}

/** Lists the pods of one application, two for a page. */
async function listPods() {
  const pods = client.list("po", { namespace, labelSelector: "app=web", pageSize: 2 });
  const names = [];
  const phases = new Set();
  for await (const pod of pods) {
    names.push(pod.name);
    phases.add(pod.value.status.phase);
  }
  const { objects } = await pods.all();
  tell("listed", { names, total: objects.length, phases: [...phases].sort() });
}

/** Gets one object. */
async function getSettings() {
  const { uid, resourceVersion, value } = await client.get("configmaps", {
    namespace,
    name: "settings",
  });
  tell("got", { uid, version: resourceVersion, data: value.data });
}

/** Scales a Deployment when the snapshot is complete, and waits for its pods. */
async function watchScaling() {
  const held = new Map();
  for await (const event of client.watch("pods", { namespace, labelSelector: "app=web" })) {
    switch (event.type) {
      case "RESET":
        held.clear();
        break;
      case "ADDED":
      case "MODIFIED":
        held.set(event.object.name, event.object);
        break;
      case "DELETED":
        held.delete(event.object.name);
        break;
      case "SYNCED":
        tell("before", { names: [...held.keys()].sort() });
        await scale();
    }
    if (held.size === replicas) break;
  }
  tell("after", { names: [...held.keys()].sort() });
}

/** Patches a Deployment. */
async function scale() {
  const { object } = await client.patch(
    "deployments.apps",
    { namespace, name: "web" },
    { type: "merge", body: { spec: { replicas } }, fieldManager: "a-node-program" },
  );
  tell("patched", { version: object.resourceVersion, replicas: object.value.spec.replicas });
}

/** Creates an object, updates it, again from what is old by then, and deletes it. */
async function keepNotes() {
  const notes = { metadata: { name: "notes" }, data: { text: "first" } };
  const { object: first } = await client.create("configmaps", notes, { namespace });
  tell("created", written(first));
  const changed = { ...first.value, data: { text: "second" } };
  const { object: second } = await client.update("configmaps", changed);
  tell("updated", written(second));
  const outdated = client.update("configmaps", { ...first.value, data: { text: "third" } });
  tell("outdated", await refusal(Code.Aborted, outdated));
  const { object: left } = await client.delete("configmaps", first, { uid: first.uid });
  tell("deleted", { gone: left === undefined });
}

/** What a write has answered. */
function written({ uid, resourceVersion, value }) {
  return { uid, version: resourceVersion, data: value.data };
}

/** Gets what is not there. */
async function askForNobody() {
  const nobody = client.get("configmaps", { namespace, name: "nobody" });
  tell("missing", await refusal(Code.NotFound, nobody));
}

/** Patches with what a validation refuses. */
async function scaleBelowNothing() {
  const patch = { type: "merge", body: { spec: { replicas: -1 } } };
  const refused = client.patch("deploy", { namespace, name: "web" }, patch);
  tell("refused", await refusal(Code.InvalidArgument, refused));
}

/** What the error with this code says that a call must fail with. */
async function refusal(code, call) {
  const error = await call.then(
    () => undefined,
    (error) => error,
  );
  if (!(error instanceof KubeconnectError) || error.code !== code) {
    throw new Error(`want a failure with code ${Code[code]}`, { cause: error });
  }
  const { reason, message, causes } = error;
  return { reason, message, fields: [...new Set(causes.map(({ field }) => field))].sort() };
}
