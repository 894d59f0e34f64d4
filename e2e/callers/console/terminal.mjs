// Opens terminals in a pod, as a caller who may, as one who may not, and where the service offers none.
//
// node terminal.mjs ADDRESS ADDRESS_OF_READS NAMESPACE POD TOKEN READER_TOKEN FOLDER

import { withPage } from "../browser/page.mjs";
import { report } from "../report.mjs";
import { axeScript, faultsOf } from "./axe.mjs";
import { enterToken, screenshot, signOut } from "./console.mjs";

const [address, addressOfReads, namespace, pod, token, readerToken, folder] = process.argv.slice(2);
/** The number of times that a shell was asked for its size. */
let asked = 0;

const path = `/o/pods/${namespace}/${pod}?tab=terminal&ns=${namespace}`;

// A page that violates its Content-Security-Policy fails.
await withPage(`${address}/favicon.svg`, async (page) => {
  await page.context().addInitScript({ path: axeScript });
  await page.goto(`${address}${path}`);
  await enterToken(page, token);
  await untilShown(page, "/ # ");
  await page.keyboard.type("echo typed-$TERM\n");
  await untilShown(page, "typed-xterm");
  report("typed", { state: await stateOf(page) });

  const before = await sizeOf(page);
  await page.setViewportSize({ width: 800, height: 500 });
  const after = await sizeOf(page, before);
  report("resized", { before, after });
  const faults = await faultsOf(page, folder, "terminal");
  await page.setViewportSize({ width: 1440, height: 900 });
  report("looked at", { faults });

  await page.keyboard.press("Control+Shift+L");
  await page.getByRole("tab", { name: "Terminal" }).and(page.locator(":focus")).waitFor();
  await page.locator(".xterm-helper-textarea").focus();
  await page.keyboard.type("exit 3\n");
  const reconnect = page.getByRole("button", { name: "Reconnect" });
  await reconnect.and(page.locator(":focus")).waitFor();
  report("ended", { state: await stateOf(page) });
  await screenshot(page, folder, "terminal-ended");
  await page.keyboard.press("Enter");
  await untilShown(page, "/ # ");
  await page.keyboard.type("echo again-$TERM\n");
  await untilShown(page, "again-xterm");
  report("again", { state: await stateOf(page) });

  await signOut(page);
  const reviewed = page.waitForResponse((response) => {
    return response.url().endsWith("/CheckAccess") && isOfExec(response.request());
  });
  await enterToken(page, readerToken);
  await reviewed;
  report("reader", { terminals: await terminalsOf(page) });
});

await withPage(`${addressOfReads}/favicon.svg`, async (page) => {
  const configured = page.waitForResponse(`${addressOfReads}/console.json`);
  await page.goto(`${addressOfReads}${path}`);
  await configured;
  report("reads only", { terminals: await terminalsOf(page) });
});

/** Waits until the terminal shows a text. */
async function untilShown(page, text) {
  await page.waitForFunction((text) => {
    return document.querySelector(".xterm-rows")?.textContent.replaceAll("\u00a0", " ").includes(text);
  }, text);
}

/** Asks the shell for its size until that is another one, and returns it: "ROWS COLUMNS". */
async function sizeOf(page, before = "") {
  for (;;) {
    const mark = `size-${++asked}`;
    await page.keyboard.type(`stty size; echo ${mark}-$TERM\n`);
    await untilShown(page, `${mark}-xterm`);
    const shown = await page.locator(".xterm-rows").innerText();
    const lines = shown.replaceAll("\u00a0", " ").split("\n");
    const size = lines.map((line) => line.trim()).findLast((line) => /^\d+ \d+$/.test(line));
    if (size !== undefined && size !== before) return size;
  }
}

function stateOf(page) {
  return page.getByRole("region", { name: "Terminal" }).getByRole("status").innerText();
}

function isOfExec(request) {
  return request.postDataBuffer()?.includes("exec") === true;
}

/** Returns how many terminals the page offers, when it shows the pod. */
async function terminalsOf(page) {
  await page.getByRole("tab", { name: "Logs" }).waitFor();
  await page.evaluate(() => new Promise((resolve) => requestIdleCallback(resolve)));
  return page.getByRole("tab", { name: "Terminal" }).count();
}
