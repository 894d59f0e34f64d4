import { connect } from "@kubeconnect/client/node";

const client = connect("http://127.0.0.1:8080");
const page = client.livePage("pods", {
  orderBy: "metadata.creationTimestamp desc",
  fields: ["status.phase"],
  limit: 10,
});
page.subscribe(() => {
  if (!page.snapshot) return; // it is loading
  console.log(page.items.length, "of", page.total, "pods");
  for (const pod of page.items) console.log(" ", pod.namespace, pod.name, pod.value.status?.phase);
});
