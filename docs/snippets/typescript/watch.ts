import { connect } from "@kubeconnect/client/node";

const client = connect("http://127.0.0.1:8080");
const names = new Set<string>();
for await (const event of client.watch("deployments.apps", { namespace: "shop" })) {
  if (event.type === "RESET") names.clear();
  else if (event.type === "DELETED") names.delete(event.object.name);
  else if (event.type === "ADDED" || event.type === "MODIFIED") {
    names.add(event.object.name);
    console.log(event.type, event.object.name, event.object.value.spec?.replicas);
  } else if (event.type === "SYNCED") console.log("synced:", names.size, "deployments");
}
