// Follows a page of ConfigMaps, their counts, or both and stores, with the client in a browser.
//
// node live.mjs page|counts|stores ADDRESS NAMESPACE
//
// The page of the browser is an image of the service, which has no scripts of its own. The program
// prints each state as a line of JSON.

import { fileURLToPath } from "node:url";
import { build } from "esbuild";

import { report } from "../report.mjs";
import { withPage } from "./page.mjs";

const [subject, address, namespace] = process.argv.slice(2);
const script = fileURLToPath(new URL("live.js", import.meta.url));
const { outputFiles } = await build({ entryPoints: [script], bundle: true, write: false });

await withPage(`${address}/favicon.svg`, async (page) => {
  await page.exposeFunction("report", report);
  await page.evaluate(outputFiles[0].text);
  await page.evaluate(
    ([subject, namespace]) => globalThis.follow(subject, namespace),
    [subject, namespace],
  );
});
