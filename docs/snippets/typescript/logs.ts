import { connect } from "@kubeconnect/client/node";

const client = connect("http://127.0.0.1:8080");
const lines = client.logLines({
  namespace: "shop",
  related: { type: "selectedBy", resource: "deployments", namespace: "shop", name: "web" },
  lineFilter: { regex: "GET|POST" },
  tailLines: 10,
  follow: true,
});
for await (const { pod, container, timestamp, text } of lines) {
  console.log(timestamp, `${pod}/${container}`, text);
}
