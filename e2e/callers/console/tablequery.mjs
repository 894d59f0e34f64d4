// Sorts and filters a table.
//
// node tablequery.mjs ADDRESS NAMESPACE FOLDER
//
// The namespace has the running pods web-a and web-b with the label app=web, and the pending pods
// db and job.

import { withPage } from "../browser/page.mjs";
import { report } from "../report.mjs";
import { screenshot, untilOrder } from "./console.mjs";

const [address, namespace, folder] = process.argv.slice(2);

await withPage(`${address}/r/pods?ns=${namespace}`, async (page) => {
  const grid = page.getByRole("grid");
  await untilOrder(page, ["db", "job", "web-a", "web-b"]);
  await grid.getByRole("columnheader", { name: "Name" }).getByRole("button").click();
  await grid.getByRole("columnheader", { name: "Name" }).getByRole("button").click();
  await untilOrder(page, ["web-b", "web-a", "job", "db"]);
  report("sorted", { address: page.url() });

  await page.goto(`${address}/r/pods?ns=${namespace}`);
  const name = page.getByLabel("Search by name");
  await name.fill("web");
  await untilOrder(page, ["web-a", "web-b"]);
  await name.fill("");
  await untilOrder(page, ["db", "job", "web-a", "web-b"]);
  report("searched");

  const labels = page.getByLabel("Label selector");
  await labels.fill("app!=web");
  await labels.press("Enter");
  await untilOrder(page, ["db", "job"]);
  report("selected", { address: page.url() });
  await labels.fill("");
  await labels.press("Enter");
  await untilOrder(page, ["db", "job", "web-a", "web-b"]);

  const pending = page.getByRole("button", { name: "Pending 2" });
  await pending.click();
  await untilOrder(page, ["db", "job"]);
  report("chip", { pressed: await pending.getAttribute("aria-pressed"), address: page.url() });
  await pending.click();
  await untilOrder(page, ["db", "job", "web-a", "web-b"]);

  const filter = page.getByLabel("Filter in CEL");
  await filter.fill("object.metadata.nam == 'db' &&");
  await filter.press("Enter");
  const alert = page.getByRole("alert");
  await alert.waitFor();
  await untilOrder(page, ["db", "job", "web-a", "web-b"]);
  await screenshot(page, folder, "table-filter-error");
  report("refused", { words: await alert.innerText() });
  await filter.fill("object.metadata.name == 'db'");
  await filter.press("Enter");
  await untilOrder(page, ["db"]);
  report("filtered", { address: page.url() });
});
