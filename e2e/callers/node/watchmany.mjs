// What a program in Node.js holds of several resources by one stream.
//
// node watchmany.mjs grpc|connect|web ADDRESS NAMESPACE
//
// "web" is the client for browsers. What is held after each batch is told as a line of JSON.
// An object called "end" ends it.

import { HeldObjects, LiveCollection, connect, follow } from "@kubeconnect/client/node";
import { connect as connectWeb } from "@kubeconnect/client/web";
import { tell } from "../tell.mjs";

const [protocol, address, namespace] = process.argv.slice(2);
const client = protocol === "web" ? connectWeb(address) : connect(address, { protocol });
const watch = (resource) => ({
  resource,
  namespace,
  labelSelector: "app=web",
  patches: new HeldObjects(),
});
const watches = { configmaps: watch("configmaps"), secrets: watch("secrets") };
const held = { configmaps: LiveCollection.ofObjects(), secrets: LiveCollection.ofObjects() };
const resets = { configmaps: 0, secrets: 0 };
const open = (signal, resumeToken) => client.watchMany(watches, { signal, resumeToken }).batches();
try {
  for await (const batch of follow(open, { signal: new AbortController().signal })) {
    held[batch.watch].apply(batch);
    resets[batch.watch] += batch.events.filter(({ type }) => type === "RESET").length;
    const { configmaps, secrets } = held;
    if (configmaps.synced && secrets.synced) {
      tell("holds", { configmaps: labels(configmaps), secrets: labels(secrets), resets });
    }
    if (configmaps.objects.has(`${namespace}/end`)) break;
  }
} finally {
  client.close?.();
}

/** The labels of the objects, by their names. */
function labels(collection) {
  const objects = [...collection.objects.values()];
  return Object.fromEntries(objects.map(({ name, value }) => [name, value.metadata.labels]));
}
