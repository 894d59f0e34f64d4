// Prints the pods of a cluster, and then their changes, until Ctrl-C.
//
// node live-pods.mjs http://127.0.0.1:8080 [namespace]

import { LiveCollection } from "@kubeconnect/client";
import { connect } from "@kubeconnect/client/node";

const [address, namespace] = process.argv.slice(2);
if (!address) {
  console.error("usage: node live-pods.mjs http://127.0.0.1:8080 [namespace]");
  process.exit(2);
}

const client = connect(address);
const ending = new AbortController();
process.once("SIGINT", () => ending.abort());

const pods = LiveCollection.ofObjects();
pods.subscribe(({ added, modified, deleted }) => {
  for (const pod of added) console.log("ADDED   ", pod.namespace, pod.name, pod.value.status.phase);
  for (const pod of modified)
    console.log("MODIFIED", pod.namespace, pod.name, pod.value.status.phase);
  for (const pod of deleted) console.log("DELETED ", pod.namespace, pod.name);
});

const watch = client.watch("pods", { namespace, signal: ending.signal });
try {
  for await (const batch of watch.batches()) {
    pods.apply(batch);
  }
} catch (error) {
  if (!ending.signal.aborted) throw error;
} finally {
  client.close();
}
