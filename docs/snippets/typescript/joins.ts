import { connect } from "@kubeconnect/client/node";

const client = connect("http://127.0.0.1:8080");
const pods = client.list("pods", {
  namespace: "shop",
  joins: {
    node: {
      type: "namedBy",
      resource: "nodes",
      path: "spec.nodeName",
      fields: ["metadata.labels"],
    },
    deployment: { type: "ownerOf", resource: "deployments", fields: ["spec.replicas"] },
  },
});
for await (const { name, joined } of pods) {
  const { node, deployment } = joined;
  console.log(name, "on", node?.objects[0]?.name, "of", deployment?.objects[0]?.name);
}
