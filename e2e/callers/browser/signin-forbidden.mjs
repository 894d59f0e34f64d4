// Signs in as a user without permissions, and waits until the user has them.
//
// node signin-forbidden.mjs ADDRESS TOKEN ROWS FOLDER

import { report } from "../report.mjs";
import { screenshot, untilConnection, untilRows, withPage } from "./page.mjs";
import { signIn, untilAsked } from "./signindialog.mjs";

const [address, token, rows, folder] = process.argv.slice(2);

await withPage(address, async (page) => {
  await untilAsked(page);
  const caller = await signIn(page, token);
  await untilConnection(page, "forbidden");
  await screenshot(page, folder, "forbidden");
  report("forbidden", { caller, words: await page.textContent("#refusal") });

  await untilConnection(page, "live");
  report("live", {
    names: await untilRows(page, Number(rows)),
    refusal: await page.isVisible("#refusal"),
  });
});
