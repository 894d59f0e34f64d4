// Shows the tables of a service that may read two namespaces only.
//
// node namespaces.mjs ADDRESS OUTSIDE POD...

import { withPage } from "../browser/page.mjs";
import { report } from "../report.mjs";
import { rowOf, untilOrder } from "./console.mjs";

const [address, outside, ...pods] = process.argv.slice(2);

await withPage(`${address}/r/pods`, async (page) => {
  await untilOrder(page, pods);
  const notice = page.getByText("Only the namespaces that the service reads");
  report("all namespaces", { words: await notice.innerText() });

  await page.goto(`${address}/r/nodes`);
  report("nodes", { words: await page.getByRole("alert").innerText() });

  await page.goto(`${address}/r/pods?ns=${outside}`);
  report("outside", { words: await page.getByRole("alert").innerText() });

  await page.goto(`${address}/`);
  await page.getByText("Workloads that are not ready").waitFor();
  report("overview", { words: await page.getByText("You may not read this").first().innerText() });

  await page.goto(`${address}/r/pods`);
  await rowOf(page, pods[0]).waitFor();
  await rowOf(page, pods[0]).getByText(pods[0]).click();
  await page.getByRole("heading", { name: pods[0] }).waitFor();
  report("object", { words: await page.getByRole("main").innerText() });
});
