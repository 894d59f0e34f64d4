// Sets the label team=red of a pod to an invalid value, and then to team=green.
//
// node label-refused.mjs ADDRESS POD FOLDER

import { report } from "../report.mjs";
import { openDialogOf, save, untilLabelled } from "./dialog.mjs";
import { screenshot, untilConnection, withPage } from "./page.mjs";

const [address, pod, folder] = process.argv.slice(2);

await withPage(address, async (page) => {
  await untilConnection(page, "live");
  await openDialogOf(page, pod, "team=red");
  const [key, value] = [await page.inputValue("#label-key"), await page.inputValue("#label-value")];
  report("offered", { key, value });

  await save(page, "team", "not valid!");
  await page.waitForSelector("#label-error:not([hidden])");
  await screenshot(page, folder, "label-refused");
  report("refused", { words: await page.textContent("#label-error") });

  await save(page, "team", "green");
  await untilLabelled(page, pod, "team=green");
  report("mended");
});
