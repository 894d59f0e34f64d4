// A page of the service in a Chromium of its own.

import { chromium } from "playwright-core";

/** How long a page may take for anything. It is no claim about speed. */
const patienceMs = 90_000;

const flags = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/**
 * Opens an address, calls use with the page, and ends the browser, which has a new
 * and empty profile. Fails if a script of the page has failed, or has tried what the
 * page's own policy forbids.
 */
export async function withPage(address, use) {
  const executablePath = process.env.CHROMIUM;
  if (!executablePath) throw new Error("set CHROMIUM to the path of a Chromium");
  const browser = await chromium.launch({ executablePath, args: flags });
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    page.setDefaultTimeout(patienceMs);
    const failures = [];
    page.on("pageerror", (error) => failures.push(error));
    page.on("console", (message) => {
      const text = message.text();
      if (text.includes("Content Security Policy")) failures.push(new Error(text));
    });
    await page.goto(address);
    await use(page);
    if (failures.length > 0) throw new AggregateError(failures, "scripts of the page have failed");
  } finally {
    await browser.close();
  }
}

/** Waits until the page says that it is connected in this way. */
export async function untilConnection(page, state) {
  await page.waitForSelector(`#connection[data-state="${state}"]`);
}

/** Waits until so many rows are shown, and returns the names of their pods. */
export async function untilRows(page, count) {
  const names = await page.waitForFunction((count) => {
    const rows = [...document.querySelectorAll("#pods-body tr")];
    return rows.length === count && rows.map((row) => row.dataset.name);
  }, count);
  return names.jsonValue();
}

/** Saves what is seen now, with all animations at their end. */
export async function screenshot(page, folder, name) {
  await page.screenshot({ path: `${folder}/${name}.png`, animations: "disabled" });
}

/** How many pixels of the page are beyond its edge. */
export function overflow(page) {
  return page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
}
