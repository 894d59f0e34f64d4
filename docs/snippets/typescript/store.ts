import { connect } from "@kubeconnect/client/node";

const client = connect("http://127.0.0.1:8080");
const pods = client.store("pods", {
  namespace: "shop",
  indexes: { app: ({ metadata }) => Object.values(metadata.labels ?? {}) },
});
await pods.open();
console.log(pods.list().length, "pods,", pods.byIndex("app", "web").length, "of web");
pods.changes(({ added, modified, deleted }) => {
  for (const pod of added) console.log("added", pod.name);
  for (const pod of modified) console.log("changed", pod.name);
  for (const pod of deleted) console.log("deleted", pod.name);
});
