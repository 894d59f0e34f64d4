// Writes the screenshots of the documentation from a demo cluster (`make run`).
//
// node shots.mjs ADDRESS FOLDER
//
// NAMESPACE, WORKLOAD and FAILING are other objects to show than those of the demo cluster.

import { withPage } from "../browser/page.mjs";
import { screenshot } from "./console.mjs";
import { open } from "./pages.mjs";

const [address, folder] = process.argv.slice(2);

const namespace = process.env.NAMESPACE ?? "shop";
const workload = process.env.WORKLOAD ?? "deployments.apps/shop/web";
const [resource, , name] = workload.split("/");
const object = `/o/${workload}?ns=${namespace}`;
const failing = `/o/${process.env.FAILING ?? "deployments.apps/billing/ledger"}`;

/** The pages by file name: an address, the words that show that it is complete, and the theme. */
const shots = {
  overview: ["/", "Requested by namespace", "light"],
  "overview-dark": ["/", "Requested by namespace", "dark"],
  table: ["/r/pods", "Age", "light"],
  "table-dark": [`/r/pods?ns=${namespace}&quick=Running`, "Age", "dark"],
  object: [failing, "Conditions", "light"],
  yaml: [`${object}&tab=yaml`, "metadata:", "dark"],
  relations: [`${object}&tab=relations`, /\d+ related objects/, "light"],
  nodes: ["/r/nodes", "Age", "light"],
  service: ["/service", "Caches", "light"],
  logs: [`${failing}?tab=logs`, "exit code", "light"],
  empty: [`/r/pods?ns=${namespace}&q=no-such-pod`, "Clear the filters", "light"],
  error: [`/r/pods?ns=${namespace}&filter=object.spec.`, "Clear the filter", "light"],
};

await withPage(
  `${address}/favicon.svg`,
  async (page) => {
    for (const [file, [path, words, colorScheme]] of Object.entries(shots)) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await open(page, address, [path, untilSays(words)]);
      await screenshot(page, folder, file);
    }
    await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
    await open(page, address, [`/r/${resource}?ns=${namespace}`, untilSays("Age")]);
    await page.keyboard.press("Control+k");
    await page.getByRole("combobox", { name: /^Go to/ }).fill(`pods ${name}`);
    await page
      .getByRole("option")
      .filter({ hasText: `${name}-` })
      .first()
      .waitFor();
    await screenshot(page, folder, "palette");
  },
  { viewport: { width: 1280, height: 800 } },
);

function untilSays(words) {
  return (page) => page.getByRole("main").getByText(words).first().waitFor();
}
