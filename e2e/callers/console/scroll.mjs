// Scrolls through a table of many pods, to its end and back.
//
// node scroll.mjs ADDRESS NAMESPACE FIRST_NAME LAST_NAME

import { withPage } from "../browser/page.mjs";
import { report } from "../report.mjs";

const [address, namespace, first, last] = process.argv.slice(2);

await withPage(`${address}/r/pods?ns=${namespace}`, async (page) => {
  const grid = page.getByRole("grid");
  await untilShown(grid, first);
  const total = Number(await grid.getAttribute("aria-rowcount")) - 1;
  report("first", { total, rows: await rowsOf(grid) });

  await grid.focus();
  let most = 0;
  for (let pages = 0; pages < 10; pages++) {
    await page.keyboard.press("PageDown");
    most = Math.max(most, await rowsOf(grid));
  }
  await page.keyboard.press("End");
  await untilShown(grid, last);
  report("last", { rows: Math.max(most, await rowsOf(grid)) });

  await page.keyboard.press("Home");
  await untilShown(grid, first);
  report("first again", { rows: await rowsOf(grid) });
});

async function untilShown(grid, name) {
  await grid.getByRole("link", { name, exact: true }).waitFor();
}

/** Returns the number of rows in the document. */
function rowsOf(grid) {
  return grid.getByRole("row").count();
}
