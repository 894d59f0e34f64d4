import { connect } from "@kubeconnect/client/node";

const client = connect("http://127.0.0.1:8080");
for await (const pod of client.list("pods", { namespace: "shop" })) {
  console.log(pod.name, pod.value.status?.phase);
}

for await (const event of client.watch("pods", { namespace: "shop" })) {
  console.log(event.type, "object" in event ? event.object.name : "");
}
