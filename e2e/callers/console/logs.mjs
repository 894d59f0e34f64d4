// Reads the logs of a pod and of a workload.
//
// node logs.mjs ADDRESS NAMESPACE POD WORKLOAD FOLDER

import { withPage } from "../browser/page.mjs";
import { report } from "../report.mjs";
import { screenshot } from "./console.mjs";

const [address, namespace, pod, workload, folder] = process.argv.slice(2);

await withPage(`${address}/o/pods/${namespace}/${pod}?tab=logs&ns=${namespace}`, async (page) => {
  await untilLine(page, "first line");
  report("read");
  await untilLine(page, "followed line");
  report("followed");

  await page.getByLabel("Read only lines with").fill("second");
  await page.getByRole("button", { name: "Apply" }).click();
  await untilLine(page, "second line");
  await page.getByRole("log").getByText("first line", { exact: true }).waitFor({ state: "hidden" });
  await screenshot(page, folder, "logs-filter");
  await page.getByLabel("Read only lines with").fill("");
  await untilLine(page, "first line");

  await page.getByRole("button", { name: "Pause" }).click();
  report("paused");
  await page.getByRole("button", { name: "1 new" }).waitFor();
  const shown = await page.getByRole("log").getByText("line while paused").count();
  await screenshot(page, folder, "logs-paused");
  await page.getByRole("button", { name: "1 new" }).click();
  await untilLine(page, "line while paused");
  report("resumed", { shown });

  await page.goto(`${address}/logs?of=${workload}&ns=${namespace}`);
  await untilLine(page, "first line");
  await untilLine(page, "line of another pod");
  report("workload");
  await untilLine(page, "later line of another pod");
  await screenshot(page, folder, "logs-workload");
  report("workload followed");
});

async function untilLine(page, text) {
  await page.getByRole("log").getByText(text, { exact: true }).waitFor();
}
