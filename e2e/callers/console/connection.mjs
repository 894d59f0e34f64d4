// Shows a table, an object and logs while the service cannot be reached for some time.
//
// node connection.mjs ADDRESS NAMESPACE ROWS_BEFORE ROWS_AFTER FOLDER FAULT

import { withPage } from "../browser/page.mjs";
import { report } from "../report.mjs";
import { overflow, screenshot, untilHealth, untilRows } from "./console.mjs";

const [address, namespace, before, after, folder, fault] = process.argv.slice(2);

await withPage(`${address}/r/pods?ns=${namespace}&labels=app=web`, async (table) => {
  const object = await open(table, `/o/deployments.apps/${namespace}/web?ns=${namespace}`);
  const logs = await open(table, `/logs?labels=app=logging&ns=${namespace}`);
  const pages = { table, object, logs };
  await untilAll(pages, "Live");
  await untilReplicas(object, before);
  await untilLine(logs, "before the fault");
  report("live", { names: await untilRows(table, Number(before)) });

  const words = await untilAll(pages, "Disconnected since");
  await logs.getByRole("status").filter({ hasText: "Connection lost" }).waitFor();
  await untilReplicas(object, before);
  await untilLine(logs, "before the fault");
  for (const [name, page] of Object.entries(pages)) await look(page, `${fault}-${name}`);
  report("lost", { words, names: await untilRows(table, Number(before)) });

  await untilAll(pages, fault === "killed" ? "Live, replica changed" : "Live");
  await untilReplicas(object, after);
  await untilLine(logs, "after the fault");
  report("live again", { names: await untilRows(table, Number(after)) });
});

async function open(first, path) {
  const page = await first.context().newPage();
  await page.goto(address + path);
  return page;
}

/** Waits until all pages show a state, and returns their words. */
async function untilAll(pages, words) {
  return Promise.all(Object.values(pages).map((page) => untilHealth(page, words)));
}

/** Waits until the page of a Deployment shows how many replicas are ready. */
async function untilReplicas(page, count) {
  const words = new RegExp(`\\b${count}( of |/| / )${count}\\b`);
  await page.getByRole("main").getByText(words).first().waitFor();
}

async function untilLine(page, text) {
  await page.getByRole("log").getByText(text, { exact: true }).waitFor();
}

/** Takes screenshots at both widths. */
async function look(page, name) {
  await screenshot(page, folder, name);
  await page.setViewportSize({ width: 390, height: 844 });
  await screenshot(page, folder, `${name}-small`);
  const pixels = await overflow(page);
  if (pixels > 0) throw new Error(`${name}: horizontal overflow of ${pixels} pixels`);
  await page.setViewportSize({ width: 1440, height: 900 });
}
