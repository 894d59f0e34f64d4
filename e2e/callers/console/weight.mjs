// Reports the scripts that the first page loads, and those of an editor, compressed.
//
// node weight.mjs ADDRESS NAMESPACE CONFIGMAP

import { gzipSync } from "node:zlib";

import { withPage } from "../browser/page.mjs";
import { report } from "../report.mjs";
import { untilHealth } from "./console.mjs";

const [address, namespace, configMap] = process.argv.slice(2);

/** Texts in the sources of the libraries that are loaded when they are needed. */
const libraries = {
  codemirror: "cm-editor",
  uplot: "u-legend",
  dagre: "nestingRoot",
  xterm: "xterm-helpers",
};

await withPage(`${address}/favicon.svg`, async (page) => {
  const responses = [];
  page.on("response", (response) => {
    if (response.request().resourceType() === "script") responses.push(response);
  });
  await page.goto(`${address}/`);
  await untilHealth(page, "Live");
  await page.evaluate(() => new Promise((resolve) => requestIdleCallback(resolve)));
  report("first page", await weigh(responses.splice(0)));

  await page.goto(`${address}/o/configmaps/${namespace}/${configMap}?tab=yaml`);
  await page.getByRole("textbox").filter({ hasText: "kind: ConfigMap" }).waitFor();
  report("editor", await weigh(responses.splice(0)));
});

/** Returns the compressed size of scripts, and the libraries in them. */
async function weigh(responses) {
  const bodies = await Promise.all(responses.map((response) => response.body()));
  const bytes = bodies.reduce((sum, body) => sum + gzipSync(body).length, 0);
  const found = Object.entries(libraries)
    .filter(([, text]) => bodies.some((body) => body.includes(text)))
    .map(([name]) => name);
  return { bytes, scripts: bodies.length, libraries: found };
}
