// Waits until the page has lost the service, and until it has found it again.
//
// node reconnect.mjs ADDRESS ROWS_BEFORE ROWS_AFTER FOLDER

import { tell } from "../tell.mjs";
import { screenshot, untilConnection, untilRows, withPage } from "./page.mjs";

const [address, rowsBefore, rowsAfter, folder] = process.argv.slice(2);

await withPage(address, async (page) => {
  await untilConnection(page, "live");
  tell("live", { names: await untilRows(page, Number(rowsBefore)) });

  await untilConnection(page, "reconnecting");
  await screenshot(page, folder, "reconnecting");
  tell("reconnecting", {
    words: await page.textContent("#connection"),
    names: await untilRows(page, Number(rowsBefore)),
  });

  await untilConnection(page, "live");
  tell("live again", { names: await untilRows(page, Number(rowsAfter)) });
});
