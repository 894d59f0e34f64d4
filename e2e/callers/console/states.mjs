// Looks at the pages of a caller who must sign in, and who may read nothing.
//
// node states.mjs ADDRESS NAMESPACE TOKEN FOLDER

import { withPage } from "../browser/page.mjs";
import { report } from "../report.mjs";
import { axeScript, faultsOf } from "./axe.mjs";
import { signIn, untilAsked, untilHealth } from "./console.mjs";

const [address, namespace, token, folder] = process.argv.slice(2);

/** The pages and what they say. */
const pages = {
  "forbidden-overview": ["/", "may not"],
  "forbidden-table": [`/r/pods?ns=${namespace}`, "You may not list pods here"],
  "forbidden-object": [`/o/pods/${namespace}/one?ns=${namespace}`, "You are not allowed to read"],
  "forbidden-logs": [`/logs?labels=app%3Dweb&ns=${namespace}`, "The logs cannot be read"],
};

await withPage(`${address}/favicon.svg`, async (page) => {
  await page.context().addInitScript({ path: axeScript });
  const faults = [];
  await page.goto(`${address}/`);
  await untilAsked(page);
  faults.push(...(await faultsOf(page, folder, "sign-in")));
  for (const [name, [path, words]] of Object.entries(pages)) {
    await page.goto(address + path);
    await signIn(page, token);
    await page.getByText(words).first().waitFor();
    await untilHealth(page, "Live");
    faults.push(...(await faultsOf(page, folder, name)));
    await page.setViewportSize({ width: 1440, height: 900 });
  }
  report("looked", { pages: Object.keys(pages).length + 1, faults });
});
