// Opens a page of another origin that loads addresses of the service by each element that
// can, and tells what the page can see of each answer, and its status.
//
// node cross-site.mjs PAGE SERVICE RIGHT WRONG
//
// RIGHT and WRONG are paths of the service that it would answer with other statuses.

import { chromium } from "playwright-core";

import { tell } from "../tell.mjs";

const [address, service, ...paths] = process.argv.slice(2);

const executablePath = process.env.CHROMIUM;
if (!executablePath) throw new Error("set CHROMIUM to the path of a Chromium");

/** How long an element may take. It is no claim about speed. */
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
    tell(element, { right: seen[0], wrong: seen[1] });
  }
} finally {
  await browser.close();
}

/** Loads an address by an element of a new page. */
async function load(element, attribute, url) {
  const page = await browser.newPage();
  page.setDefaultTimeout(patienceMs);
  let status = 0;
  page.on("response", (response) => {
    if (response.url().startsWith(service)) status = response.status();
  });
  try {
    await page.goto(address);
    return { page: await page.evaluate(seenBy, { element, attribute, url }), status };
  } finally {
    await page.close();
  }
}

/** What a script of the page sees: which event comes, and how many frames there are then. */
function seenBy({ element, attribute, url }) {
  return new Promise((resolve) => {
    const made = document.createElement(element);
    const say = (event) => setTimeout(() => resolve(`${event}, ${window.length} frames, ${made.offsetWidth}x${made.offsetHeight}`), 200);
    made.addEventListener("load", () => say("load"));
    made.addEventListener("error", () => say("error"));
    setTimeout(() => say("nothing"), 5_000);
    if (element === "link") made.rel = "stylesheet";
    made[attribute] = url;
    document.body.append(made);
  });
}
