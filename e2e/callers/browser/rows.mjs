// Waits until the page shows so many rows, then so many, and so on, and never
// loads it again.
//
// node rows.mjs ADDRESS COUNT...

import { tell } from "../tell.mjs";
import { untilConnection, untilRows, withPage } from "./page.mjs";

const [address, ...counts] = process.argv.slice(2);

await withPage(address, async (page) => {
  await untilConnection(page, "live");
  let loads = 0;
  page.on("load", () => loads++);
  for (const count of counts) {
    const names = await untilRows(page, Number(count));
    tell(`${count} rows`, { names, said: await page.textContent("#count") });
  }
  tell("end", { loads });
});
