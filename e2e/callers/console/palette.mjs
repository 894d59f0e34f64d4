// Goes to a type and to an object by the palette, and through a table by the keyboard.
//
// node palette.mjs ADDRESS NAMESPACE POD... (in the order of the table)

import { withPage } from "../browser/page.mjs";
import { report } from "../report.mjs";
import { untilHealth, untilOrder } from "./console.mjs";

const [address, namespace, ...pods] = process.argv.slice(2);

await withPage(`${address}/?ns=${namespace}`, async (page) => {
  await untilHealth(page, "Live");
  await goTo(page, "deploym", "Deployments");
  report("type", { address: page.url() });
  await goTo(page, `pods ${pods[1]}`, pods[1]);
  await page.getByRole("heading", { name: pods[1] }).waitFor();
  report("object", { address: page.url() });
  await goTo(page, "delete", `Delete ${pods[1]}…`);
  const deletion = page.getByRole("dialog", { name: `Delete Pod ${pods[1]}?` });
  await deletion.waitFor();
  await press(page, "Escape");
  await deletion.waitFor({ state: "hidden" });

  await goTo(page, "pods", "Pods");
  await untilOrder(page, pods);
  await press(page, "j", "j", "j", "k", "Enter");
  await page.getByRole("heading", { name: pods[1] }).waitFor();
  report("entered", { address: page.url() });

  await page.goBack();
  await untilOrder(page, pods);
  await press(page, "/");
  await page.locator("input:focus").waitFor();
  await page.keyboard.type(pods[2]);
  await page.waitForURL(new RegExp(`q=${pods[2]}`));
  await untilOrder(page, [pods[2]]);
  report("searched", { address: page.url() });
  await press(page, "Escape");
  await page.locator("input:focus").waitFor({ state: "hidden" });

  await press(page, "?");
  const help = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await help.waitFor();
  report("help", { words: await help.innerText() });
  await press(page, "Escape");
  await help.waitFor({ state: "hidden" });
});

/** Chooses the option of this name after typing a text. */
async function goTo(page, text, name) {
  await page.keyboard.press("Control+k");
  const palette = page.getByRole("dialog", { name: "Go to" });
  await palette.getByRole("combobox").fill(text);
  await palette.getByRole("option", { selected: true }).filter({ hasText: name }).waitFor();
  await page.keyboard.press("Enter");
  await palette.waitFor({ state: "hidden" });
}

async function press(page, ...keys) {
  for (const key of keys) await page.keyboard.press(key);
}
