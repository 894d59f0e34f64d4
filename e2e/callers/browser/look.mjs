// Takes pictures of the page, light and dark, wide and as narrow as a phone.
//
// node look.mjs ADDRESS ROWS FOLDER

import { tell } from "../tell.mjs";
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

/** The table, and the dialog before it. */
async function look(page, name) {
  await screenshot(page, folder, name);
  await page.click("#pods-body tr .edit");
  await screenshot(page, folder, `${name}-dialog`);
  await page.click("#label-cancel");
  tell(name, await layout(page));
}

/** Whether all of the page's width is seen, and what colour is behind it. */
async function layout(page) {
  return { overflow: await overflow(page), background: await page.evaluate(background) };
}

function background() {
  return getComputedStyle(document.body).backgroundColor;
}
