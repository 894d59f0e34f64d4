// Sets the label team=blue of a pod, and removes the label team=red of another pod.
//
// node label.mjs ADDRESS POD OTHER_POD

import { report } from "../report.mjs";
import { openDialog, openDialogOf, save, untilLabelled, untilUnlabelled } from "./dialog.mjs";
import { untilConnection, withPage } from "./page.mjs";

const [address, pod, otherPod] = process.argv.slice(2);

await withPage(address, async (page) => {
  await untilConnection(page, "live");
  await openDialog(page, pod);
  await save(page, "team", "blue");
  await untilLabelled(page, pod, "team=blue");
  report("labelled");

  await openDialogOf(page, otherPod, "team=red");
  await page.check("#label-remove");
  await page.click("#label-save");
  await untilUnlabelled(page, otherPod, "team=red");
  report("unlabelled");
});
