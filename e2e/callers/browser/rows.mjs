// Waits until the page shows each COUNT of rows in turn, without reloading it.
//
// node rows.mjs ADDRESS COUNT...

import { report } from "../report.mjs";
import { untilConnection, untilRows, withPage } from "./page.mjs";

const [address, ...counts] = process.argv.slice(2);

await withPage(address, async (page) => {
  await untilConnection(page, "live");
  let loads = 0;
  page.on("load", () => loads++);
  for (const count of counts) {
    const names = await untilRows(page, Number(count));
    report(`${count} rows`, { names, said: await page.textContent("#count") });
  }
  report("end", { loads });
});
