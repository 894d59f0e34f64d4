// Looks at every page, or at those whose names are given.
//
// node look.mjs ADDRESS CONTENT FOLDER [NAME...]
//
// CONTENT is the JSON of what pagesOf of pages.mjs needs.

import { withPage } from "../browser/page.mjs";
import { report } from "../report.mjs";
import { axeScript, faultsOf } from "./axe.mjs";
import { open, pagesOf } from "./pages.mjs";

const [address, content, folder, ...names] = process.argv.slice(2);
const pages = Object.entries(pagesOf(JSON.parse(content)));
const chosen = names.length > 0 ? pages.filter(([name]) => names.includes(name)) : pages;

await withPage(`${address}/favicon.svg`, async (page) => {
  await page.context().addInitScript({ path: axeScript });
  const faults = [];
  for (const [name, target] of chosen) {
    await page.setViewportSize({ width: 1440, height: 900 });
    await open(page, address, target);
    const found = await faultsOf(page, folder, name);
    report(name, { faults: found });
    faults.push(...found);
  }
  report("looked", { pages: chosen.length, faults });
});
