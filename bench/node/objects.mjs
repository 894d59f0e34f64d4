/** kubeconnect with whole objects, which decode their content on first access. */
import { kubeconnect } from "./kubeconnect.mjs";
import { run } from "./task.mjs";

await run(kubeconnect({}));
