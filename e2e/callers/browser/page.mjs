// A page of the service in a separate Chromium.

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

/** What the browser says of a page that violates its Content-Security-Policy or Trusted Types. */
const violation = /Content[- ]Security[- ]Policy|TrustedHTML|TrustedScript/;

/**
 * Opens an address in a browser with a new profile, calls `use` with the page, and closes the
 * browser. Throws if a script of any page of the browser has failed, or has violated the policies
 * of the page, or if a page has sent a request to another origin. The options are those of a
 * browser context, and `also`: another origin that pages may send requests to, with the hash of the
 * key that it is trusted by.
 */
export async function withPage(address, use, { also, ...options } = {}) {
  const executablePath = process.env.CHROMIUM;
  if (!executablePath) throw new Error("set CHROMIUM to the path of a Chromium");
  const args = also ? [...flags, `--ignore-certificate-errors-spki-list=${also.key}`] : flags;
  const browser = await chromium.launch({ executablePath, args });
  try {
    const context = await browser.newContext({
      viewport: { width: 1440, height: 900 },
      ...options,
    });
    context.setDefaultTimeout(patienceMs);
    const failures = failuresOf(context, [new URL(address).origin, also?.origin]);
    const page = await context.newPage();
    await page.goto(address);
    try {
      await use(page);
    } catch (error) {
      throw new Error(`${error.message}\n${await shownBy(context)}`, { cause: error });
    }
    if (failures.length > 0) throw new AggregateError(failures, "scripts of the page have failed");
  } finally {
    await browser.close();
  }
}

/** Returns the addresses of all pages of a browser context, and the states that they show. */
async function shownBy(context) {
  const pages = context.pages().map(async (page) => {
    const states = await page.getByRole("status").allTextContents();
    return `${page.url()} shows: ${states.filter(Boolean).join("; ")}`;
  });
  return (await Promise.all(pages)).join("\n");
}

/**
 * Returns the failures of all pages of a browser context, to which later ones are added. Requests to
 * other origins than these are failures.
 */
function failuresOf(context, origins) {
  const failures = [];
  context.on("weberror", (failure) => failures.push(failure.error()));
  context.on("console", (message) => {
    if (violation.test(message.text())) failures.push(new Error(message.text()));
  });
  context.on("request", (request) => {
    const url = new URL(request.url());
    if (url.protocol !== "data:" && !origins.includes(url.origin) && url.origin !== "null") {
      failures.push(new Error(`request to another origin: ${url}`));
    }
  });
  return failures;
}
