// Enters an invalid label selector, and then a valid one.
//
// node selector.mjs ADDRESS ROWS SELECTOR ROWS FOLDER

import { report } from "../report.mjs";
import { screenshot, untilConnection, untilRows, withPage } from "./page.mjs";

const [address, allRows, selector, someRows, folder] = process.argv.slice(2);

await withPage(address, async (page) => {
  await untilConnection(page, "live");
  report("all", { names: await untilRows(page, Number(allRows)) });

  await select(page, "app in (");
  await page.waitForSelector("#selector-error:not([hidden])");
  report("refused", {
    words: await page.textContent("#selector-error"),
    state: await page.getAttribute("#connection", "data-state"),
    names: await untilRows(page, Number(allRows)),
  });
  await screenshot(page, folder, "selector-refused");

  await select(page, selector);
  await page.waitForSelector("#selector-error", { state: "hidden" });
  report("some", { names: await untilRows(page, Number(someRows)) });
});

async function select(page, labelSelector) {
  await page.fill("#selector", labelSelector);
  await page.press("#selector", "Enter");
}
