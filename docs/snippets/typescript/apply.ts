import { ApplyError } from "@kubeconnect/client";
import { connect } from "@kubeconnect/client/node";

const client = connect("http://127.0.0.1:8080");
const settings = {
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "banner", namespace: "shop" },
  data: { text: "Open until 20:00" },
};
try {
  await client.applyYaml([settings], { fieldManager: "docs" });
  console.log(settings.metadata.name, "is applied");
} catch (error) {
  if (!(error instanceof ApplyError)) throw error;
  for (const { message, causes } of error.errors) {
    console.log(message);
    for (const { field, message } of causes) console.log(field, message);
  }
}
