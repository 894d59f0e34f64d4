// Waits until the page shows that the service does not respond, and until it is connected again.
//
// node frozen.mjs ADDRESS ROWS_BEFORE ROWS_AFTER FOLDER

import { report } from "../report.mjs";
import { screenshot, untilConnection, untilRows, withPage } from "./page.mjs";

const [address, rowsBefore, rowsAfter, folder] = process.argv.slice(2);

await withPage(address, async (page) => {
  await untilConnection(page, "live");
  report("live", { names: await untilRows(page, Number(rowsBefore)) });

  await untilConnection(page, "reconnecting");
  await screenshot(page, folder, "frozen");
  await page.setViewportSize({ width: 390, height: 844 });
  await screenshot(page, folder, "frozen-phone");
  await page.setViewportSize({ width: 1280, height: 800 });
  report("silent", {
    words: await page.textContent("#connection"),
    names: await untilRows(page, Number(rowsBefore)),
  });

  await untilConnection(page, "live");
  report("live again", { names: await untilRows(page, Number(rowsAfter)) });
});
