import { connect } from "@kubeconnect/client/node";

const clusters = {
  north: connect("http://127.0.0.1:8080"),
  south: connect("http://127.0.0.1:8080"),
};
for (const [cluster, client] of Object.entries(clusters)) {
  const { total } = await client.count("pods", { filter: "object.status.phase != 'Running'" });
  console.log(cluster, total);
}
