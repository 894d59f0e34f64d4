// Signs in with a token that expires while the page is shown, and then with another token.
//
// node signin-expired.mjs ADDRESS EXPIRING_TOKEN TOKEN ROWS_BEFORE ROWS_AFTER FOLDER

import { report } from "../report.mjs";
import { screenshot, untilConnection, untilRows, withPage } from "./page.mjs";
import { signIn, untilAsked } from "./signindialog.mjs";

const [address, expiringToken, token, rowsBefore, rowsAfter, folder] = process.argv.slice(2);

await withPage(address, async (page) => {
  await untilAsked(page);
  await signIn(page, expiringToken);
  await untilConnection(page, "live");
  report("live", { names: await untilRows(page, Number(rowsBefore)) });

  const words = await untilAsked(page);
  await page.waitForSelector("body.stale");
  await screenshot(page, folder, "sign-in-expired");
  report("expired", { words, names: await untilRows(page, Number(rowsBefore)) });

  await signIn(page, token);
  await untilConnection(page, "live");
  report("live again", { names: await untilRows(page, Number(rowsAfter)) });
});
