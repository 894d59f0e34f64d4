// A Node.js program that watches several resources over one stream.
//
// node watchmany.mjs grpc|connect|web ADDRESS NAMESPACE
//
// "web" is the client for browsers. After each batch the program prints its objects as a line of
// JSON. It ends when there is an object named "end".

import { LiveCollection, connect } from "@kubeconnect/client/node";
import { connect as connectWeb } from "@kubeconnect/client/web";
import { report } from "../report.mjs";

const [protocol, address, namespace] = process.argv.slice(2);
const client = protocol === "web" ? connectWeb(address) : connect(address, { protocol });
const watch = (resource) => ({ resource, namespace, labelSelector: "app=web", patches: true });
const watches = { configmaps: watch("configmaps"), secrets: watch("secrets") };
const live = { configmaps: LiveCollection.ofObjects(), secrets: LiveCollection.ofObjects() };
const resets = { configmaps: 0, secrets: 0 };
try {
  for await (const batch of client.watchMany(watches).batches()) {
    live[batch.watch].apply(batch);
    resets[batch.watch] += batch.events.filter(({ type }) => type === "RESET").length;
    const { configmaps, secrets } = live;
    if (configmaps.synced && secrets.synced) {
      report("holds", { configmaps: labels(configmaps), secrets: labels(secrets), resets });
    }
    if (configmaps.objects.has(`${namespace}/end`)) break;
  }
} finally {
  client.close?.();
}

/** Returns the labels of the objects, by name. */
function labels(collection) {
  const objects = [...collection.objects.values()];
  return Object.fromEntries(objects.map(({ name, value }) => [name, value.metadata.labels]));
}
