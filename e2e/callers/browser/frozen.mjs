// Waits until the page says that the service does not answer, and until it has found it
// again.
//
// node frozen.mjs ADDRESS ROWS_BEFORE ROWS_AFTER FOLDER

import { tell } from "../tell.mjs";
import { screenshot, untilConnection, untilRows, withPage } from "./page.mjs";

const [address, rowsBefore, rowsAfter, folder] = process.argv.slice(2);

await withPage(address, async (page) => {
  await untilConnection(page, "live");
  tell("live", { names: await untilRows(page, Number(rowsBefore)) });

  await untilConnection(page, "reconnecting");
  await screenshot(page, folder, "frozen");
  await page.setViewportSize({ width: 390, height: 844 });
  await screenshot(page, folder, "frozen-phone");
  await page.setViewportSize({ width: 1280, height: 800 });
  tell("silent", {
    words: await page.textContent("#connection"),
    names: await untilRows(page, Number(rowsBefore)),
  });

  await untilConnection(page, "live");
  tell("live again", { names: await untilRows(page, Number(rowsAfter)) });
});
