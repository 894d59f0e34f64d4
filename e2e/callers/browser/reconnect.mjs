// Waits until the page has lost the connection to the service, and until it is connected again.
//
// node reconnect.mjs ADDRESS ROWS_BEFORE ROWS_AFTER FOLDER

import { report } from "../report.mjs";
import { screenshot, untilConnection, untilRows, withPage } from "./page.mjs";

const [address, rowsBefore, rowsAfter, folder] = process.argv.slice(2);

await withPage(address, async (page) => {
  await untilConnection(page, "live");
  report("live", { names: await untilRows(page, Number(rowsBefore)) });

  await untilConnection(page, "reconnecting");
  await screenshot(page, folder, "reconnecting");
  report("reconnecting", {
    words: await page.textContent("#connection"),
    names: await untilRows(page, Number(rowsBefore)),
  });

  await untilConnection(page, "live");
  report("live again", { names: await untilRows(page, Number(rowsAfter)) });
});
