// Takes screenshots of the page, light and dark, at the widths of a desktop and of a phone.
//
// node look.mjs ADDRESS ROWS FOLDER

import { report } from "../report.mjs";
import { overflow, screenshot, untilConnection, untilRows, withPage } from "./page.mjs";

const [address, rows, folder] = process.argv.slice(2);
const widths = { wide: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } };

await withPage(address, async (page) => {
  await untilConnection(page, "live");
  await untilRows(page, Number(rows));
  for (const [width, size] of Object.entries(widths)) {
    await page.setViewportSize(size);
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await look(page, `${width}-${colorScheme}`);
    }
  }
});

/** Takes screenshots of the table and of the dialog, and reports the layout. */
async function look(page, name) {
  await screenshot(page, folder, name);
  await page.click("#pods-body tr .edit");
  await screenshot(page, folder, `${name}-dialog`);
  await page.click("#label-cancel");
  report(name, await layout(page));
}

/** Returns the horizontal overflow and the background colour of the page. */
async function layout(page) {
  return { overflow: await overflow(page), background: await page.evaluate(background) };
}

function background() {
  return getComputedStyle(document.body).backgroundColor;
}
