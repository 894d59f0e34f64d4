// Scales, restarts and deletes a Deployment, cordons a node, and reads why a pod crashes.
//
// node object.mjs ADDRESS NAMESPACE NODE FOLDER

import { withPage } from "../browser/page.mjs";
import { report } from "../report.mjs";
import { screenshot } from "./console.mjs";

const [address, namespace, node, folder] = process.argv.slice(2);

await withPage(`${address}/o/pods/${namespace}/crashing?ns=${namespace}`, async (page) => {
  const findings = page.getByRole("region", { name: "What to know" });
  await findings.getByText("keeps crashing").first().waitFor();
  await screenshot(page, folder, "pod-crashing");
  report("crashing", { words: await findings.innerText() });

  await page.goto(`${address}/o/deployments.apps/${namespace}/web?ns=${namespace}`);
  await act(page, "Scale…");
  await page.getByRole("dialog").getByLabel("Replicas").fill("3");
  await confirm(page, "Scale");
  await page.getByRole("main").getByText("3 of 3").first().waitFor();
  report("scaled");

  await act(page, "Restart…");
  await confirm(page, "Restart");
  report("restarted");
  await page.getByRole("main").getByText("4 of 4").first().waitFor();

  await act(page, "Delete…");
  const dialog = page.getByRole("dialog");
  await dialog.getByText("takes these objects along").waitFor();
  await screenshot(page, folder, "delete-dialog");
  const words = await dialog.innerText();
  await confirm(page, "Delete");
  await page.getByText("Deleted at").waitFor();
  await screenshot(page, folder, "object-deleted");
  report("deleted", { words });

  await page.goto(`${address}/o/nodes/-/${node}`);
  const changed = page.waitForResponse((response) => response.url().endsWith("/Patch"));
  await act(page, "Cordon");
  await page.getByText("Cordoned").first().waitFor(); // before the service has answered
  await changed;
  report("cordoned");
});

/** Starts an action of the object. */
async function act(page, name) {
  await page.getByRole("button", { name: "Actions" }).click();
  const item = page.getByRole("menuitem", { name });
  await item.and(page.locator(":not([aria-disabled=true])")).click();
}

/** Confirms the open dialog, and waits until it has closed. */
async function confirm(page, name) {
  await page.getByRole("dialog").getByRole("button", { name, exact: true }).click();
  await page.getByRole("dialog").waitFor({ state: "hidden" });
}
