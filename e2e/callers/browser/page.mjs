// Helpers for a page of the service in a separate Chromium.

import { chromium } from "playwright-core";

/** The timeout of every wait, which is not a performance bound. */
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
 * Opens an address in a browser with a new profile, calls `use` with the page, and closes the
 * browser. Throws if a script of the page has failed, or has violated the page's Content Security
 * Policy.
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

/** Waits until the page shows this connection state. */
export async function untilConnection(page, state) {
  await page.waitForSelector(`#connection[data-state="${state}"]`);
}

/** Waits until n rows are shown, and returns the names of their pods. */
export async function untilRows(page, count) {
  const names = await page.waitForFunction((count) => {
    const rows = [...document.querySelectorAll("#pods-body tr")];
    return rows.length === count && rows.map((row) => row.dataset.name);
  }, count);
  return names.jsonValue();
}

/** Saves a screenshot, with all animations finished. */
export async function screenshot(page, folder, name) {
  await page.screenshot({ path: `${folder}/${name}.png`, animations: "disabled" });
}

/** Returns the horizontal overflow of the page in pixels. */
export function overflow(page) {
  return page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
}
