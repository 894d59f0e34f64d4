import { connect } from "@kubeconnect/client/node";

const client = connect("http://127.0.0.1:8080");
const complete = `object.status.observedGeneration == object.metadata.generation
  && object.status.?updatedReplicas.orValue(0) == object.spec.replicas
  && object.status.?replicas.orValue(0) == object.spec.replicas
  && object.status.?availableReplicas.orValue(0) == object.spec.replicas`;
const web = client.watch("deployments.apps", {
  namespace: "shop",
  name: "web",
  filter: complete,
  signal: AbortSignal.timeout(300_000),
});
for await (const event of web) {
  if (event.type !== "ADDED") continue;
  console.log(event.object.name, "is rolled out");
  break;
}
client.close();
