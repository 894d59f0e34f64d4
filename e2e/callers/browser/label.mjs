// Gives a pod the label team=blue, and takes the label team=red from another.
//
// node label.mjs ADDRESS POD OTHER_POD

import { tell } from "../tell.mjs";
import { openDialog, openDialogOf, save, untilLabelled, untilUnlabelled } from "./dialog.mjs";
import { untilConnection, withPage } from "./page.mjs";

const [address, pod, otherPod] = process.argv.slice(2);

await withPage(address, async (page) => {
  await untilConnection(page, "live");
  await openDialog(page, pod);
  await save(page, "team", "blue");
  await untilLabelled(page, pod, "team=blue");
  tell("labelled");

  await openDialogOf(page, otherPod, "team=red");
  await page.check("#label-remove");
  await page.click("#label-save");
  await untilUnlabelled(page, otherPod, "team=red");
  tell("unlabelled");
});
