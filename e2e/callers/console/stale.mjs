// Shows a table and an object while the service cannot reach the API server for some time.
//
// node stale.mjs ADDRESS NAMESPACE POD FOLDER

import { withPage } from "../browser/page.mjs";
import { report } from "../report.mjs";
import { axeScript, faultsOf } from "./axe.mjs";
import { untilHealth, untilOrder } from "./console.mjs";

const [address, namespace, pod, folder] = process.argv.slice(2);

await withPage(`${address}/favicon.svg`, async (page) => {
  await page.context().addInitScript({ path: axeScript });
  await page.goto(`${address}/r/pods?ns=${namespace}`);
  await untilOrder(page, [pod]);
  const object = await page.context().newPage();
  await object.goto(`${address}/o/pods/${namespace}/${pod}?ns=${namespace}`);
  await object.getByRole("heading", { name: pod, level: 1 }).waitFor();
  await Promise.all([untilHealth(page, "Live"), untilHealth(object, "Live")]);
  report("live");

  await Promise.all([untilHealth(page, "Stale since"), untilHealth(object, "Stale since")]);
  await untilOrder(page, [pod]);
  await object.getByRole("main").getByText("This may be outdated").waitFor();
  const faults = await faultsOf(page, folder, "stale-table");
  faults.push(...(await faultsOf(object, folder, "stale-object")));
  report("stale", { pages: 2, faults });

  await Promise.all([untilHealth(page, "Live"), untilHealth(object, "Live")]);
  report("live again");
});
