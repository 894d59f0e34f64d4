import { connect } from "@kubeconnect/client/node";

const client = connect("http://127.0.0.1:8080");
const name = { namespace: "shop", name: "web" };
const { object } = await client.patch("deployments.apps", name, {
  type: "merge",
  body: { spec: { replicas: 4 } },
});
const web = await client.get("deployments.apps", name, {
  minResourceVersion: object.resourceVersion,
});
console.log(web.name, "has", web.value.spec?.replicas, "replicas");
