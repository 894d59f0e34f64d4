// Opens a page of another origin that loads addresses of the service with each element that can
// load one. Reports the status of each response, and what the page can observe of it.
//
// node cross-site.mjs PAGE SERVICE RIGHT WRONG
//
// RIGHT and WRONG are paths to which the service would respond with different statuses.

import { chromium } from "playwright-core";

import { report } from "../report.mjs";

const [address, service, ...paths] = process.argv.slice(2);

const executablePath = process.env.CHROMIUM;
if (!executablePath) throw new Error("set CHROMIUM to the path of a Chromium");

/** The timeout of an element, which is not a performance bound. */
const patienceMs = 30_000;

const elements = { object: "data", embed: "src", iframe: "src", img: "src", script: "src", link: "href" };

const browser = await chromium.launch({
  executablePath,
  args: ["--no-sandbox", "--disable-gpu", "--host-resolver-rules=MAP evil.example 127.0.0.1"],
});
try {
  for (const [element, attribute] of Object.entries(elements)) {
    const seen = [];
    for (const path of paths) seen.push(await load(element, attribute, service + path));
    report(element, { right: seen[0], wrong: seen[1] });
  }
} finally {
  await browser.close();
}

/** Loads an address with an element of a new page. */
async function load(element, attribute, url) {
  const page = await browser.newPage();
  page.setDefaultTimeout(patienceMs);
  let status = 0;
  page.on("response", (response) => {
    if (response.url().startsWith(service)) status = response.status();
  });
  try {
    await page.goto(address);
    return { page: await page.evaluate(observe, { element, attribute, url }), status };
  } finally {
    await page.close();
  }
}

/** Returns what a script of the page observes: the event, the number of frames, and the size. */
function observe({ element, attribute, url }) {
  return new Promise((resolve) => {
    const loader = document.createElement(element);
    const finish = (event) =>
      setTimeout(() => {
        const size = `${loader.offsetWidth}x${loader.offsetHeight}`;
        resolve(`${event}, ${window.length} frames, ${size}`);
      }, 200);
    loader.addEventListener("load", () => finish("load"));
    loader.addEventListener("error", () => finish("error"));
    setTimeout(() => finish("nothing"), 5_000);
    if (element === "link") loader.rel = "stylesheet";
    loader[attribute] = url;
    document.body.append(loader);
  });
}
