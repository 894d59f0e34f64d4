// Runs a program of the documentation in a page of the service, and prints what the page shows.
//
// node snippet.mjs PROGRAM ADDRESS TEXT
//
// The program ends when the page shows the text.

import { fileURLToPath } from "node:url";
import { build } from "esbuild";

import { withPage } from "./page.mjs";

const [program, address, text] = process.argv.slice(2);
const nodePaths = [fileURLToPath(new URL("../node_modules", import.meta.url))];
const { outputFiles } = await build({
  entryPoints: [program],
  bundle: true,
  nodePaths,
  write: false,
});
const body = "<!doctype html><title>A program of the documentation</title><body></body>";

await withPage(`${address}/favicon.svg`, async (page) => {
  await page.route("**/snippet.html", (route) => route.fulfill({ contentType: "text/html", body }));
  await page.goto(`${address}/snippet.html`);
  await page.addScriptTag({ content: outputFiles[0].text });
  await page.getByText(text).first().waitFor();
  console.log(await page.innerText("body"));
});
