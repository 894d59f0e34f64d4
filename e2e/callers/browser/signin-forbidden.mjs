// Signs in as somebody who may see nothing, and waits until they may.
//
// node signin-forbidden.mjs ADDRESS TOKEN ROWS FOLDER

import { tell } from "../tell.mjs";
import { screenshot, untilConnection, untilRows, withPage } from "./page.mjs";
import { signIn, untilAsked } from "./signindialog.mjs";

const [address, token, rows, folder] = process.argv.slice(2);

await withPage(address, async (page) => {
  await untilAsked(page);
  const caller = await signIn(page, token);
  await untilConnection(page, "forbidden");
  await screenshot(page, folder, "forbidden");
  tell("forbidden", { caller, words: await page.textContent("#refusal") });

  await untilConnection(page, "live");
  tell("live", {
    names: await untilRows(page, Number(rows)),
    refusal: await page.isVisible("#refusal"),
  });
});
