/** kubeconnect with objects that have only the fields that are read. */
import { kubeconnect } from "./kubeconnect.mjs";
import { CHANGED, run } from "./task.mjs";

const fields = [
  `metadata.annotations['${CHANGED}']`,
  "spec.nodeName",
  "spec.containers[*].image",
  "status.phase",
];

await run(kubeconnect({ fields }));
