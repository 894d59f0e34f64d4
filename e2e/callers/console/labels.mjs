// Labels pods by the bulk action of a table, also with a label that the API server rejects.
//
// node labels.mjs ADDRESS NAMESPACE FOLDER POD...

import { withPage } from "../browser/page.mjs";
import { report } from "../report.mjs";
import { rowOf, screenshot } from "./console.mjs";

const [address, namespace, folder, ...pods] = process.argv.slice(2);

await withPage(`${address}/r/pods?ns=${namespace}`, async (page) => {
  for (const pod of pods) await rowOf(page, pod).getByRole("checkbox").click();
  await page
    .getByRole("status")
    .filter({ hasText: `${pods.length} selected` })
    .waitFor();

  await label(page, "team=blue tier-");
  await page.getByText(`${pods.length} of ${pods.length} done`).waitFor();
  await screenshot(page, folder, "label-done");
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
  report("labelled");

  await label(page, "-no-domain/key=value");
  const alert = page.getByRole("dialog").getByRole("alert");
  await alert.waitFor();
  await screenshot(page, folder, "label-refused");
  report("refused", { words: await alert.textContent() });
});

/** Applies labels to the selected pods. */
async function label(page, text) {
  await page.getByRole("button", { name: "Label…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("textbox").fill(text);
  await dialog.getByRole("button", { name: `Label ${pods.length} pods` }).click();
}
