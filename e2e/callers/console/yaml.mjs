// Edits the YAML of a pod whose label `team` is red: with a value that the API server rejects, and
// while somebody else changes the label to green.
//
// node yaml.mjs ADDRESS NAMESPACE POD FOLDER

import { withPage } from "../browser/page.mjs";
import { report } from "../report.mjs";
import { screenshot } from "./console.mjs";

const [address, namespace, pod, folder] = process.argv.slice(2);

await withPage(`${address}/o/pods/${namespace}/${pod}?tab=yaml&ns=${namespace}`, async (page) => {
  await page.getByRole("button", { name: "Edit", exact: true }).click();
  const editor = page.getByRole("textbox", { name: `Edit ${pod}` });
  await replace(page, editor, "red", "not valid!");
  await page.getByRole("button", { name: "Review changes" }).click();
  const alert = page.getByRole("alert");
  await alert.waitFor();
  await screenshot(page, folder, "yaml-refused");
  report("refused", { words: await alert.textContent(), text: await editor.innerText() });

  await page.getByRole("button", { name: "Discard" }).click();
  await page.getByRole("button", { name: "Edit", exact: true }).click();
  await replace(page, editor, "red", "blue");
  report("typed");
  const conflict = page
    .getByRole("status")
    .filter({ hasText: "Someone has changed the same fields" });
  await conflict.waitFor();
  await conflict.getByText("an unknown manager").waitFor({ state: "hidden" }); // it is asked for
  await screenshot(page, folder, "yaml-conflict");
  report("conflict", { words: await conflict.innerText(), text: await editor.innerText() });

  await page.getByRole("button", { name: "Continue with these choices" }).click();
  await conflict.waitFor({ state: "hidden" });
  await page.getByRole("button", { name: "Review changes" }).click();
  await page.getByRole("button", { name: "Apply" }).waitFor();
  await screenshot(page, folder, "yaml-review");
  await page.getByRole("button", { name: "Apply" }).click();
  const view = page.getByRole("textbox", { name: `YAML of ${pod}` });
  await view.filter({ hasText: "team: blue" }).waitFor();
  report("applied");
});

/** Replaces a word in the editor, as a person does. */
async function replace(page, editor, before, after) {
  await editor.getByText(before, { exact: true }).dblclick();
  await page.keyboard.insertText(after);
}
