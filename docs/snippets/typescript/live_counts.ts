import { sum } from "@kubeconnect/client";
import { connect } from "@kubeconnect/client/node";

const client = connect("http://127.0.0.1:8080");
const counts = client.watchCounts("pods", {
  groupBy: ["status.phase"],
  aggregates: [sum("spec.containers[*].resources.requests.cpu")],
});
for await (const { total, groups, aggregates } of counts) {
  console.log(total, "pods request", aggregates[0].exact, "CPUs");
  for (const { values, count } of groups) console.log(" ", ...values, count);
}
