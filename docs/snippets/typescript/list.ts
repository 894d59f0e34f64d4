import { connect } from "@kubeconnect/client/node";

const client = connect("http://127.0.0.1:8080");
const ready = "c.type == 'Ready' && c.status == 'True'";
const { objects, warnings } = await client
  .list("pods", {
    filter: `!has(object.status.conditions) || !object.status.conditions.exists(c, ${ready})`,
    fields: ["spec.nodeName", "status.phase"],
    orderBy: "metadata.creationTimestamp desc",
  })
  .all();
for (const pod of objects) console.log(pod.namespace, pod.name, pod.value.status?.phase);
console.log(objects.length, "pods are not ready", ...warnings);
