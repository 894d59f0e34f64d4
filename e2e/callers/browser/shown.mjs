// Opens a page that shows names in a list, and prints them whenever they change, as a line of JSON.
// Ends when the page shows the name "end".
//
// node shown.mjs PAGE

import { report } from "../report.mjs";
import { withPage } from "./page.mjs";

const [address] = process.argv.slice(2);

await withPage(address, async (page) => {
  await page.exposeFunction("report", report);
  await page.evaluate(untilEnd);
});

/** Reports the names whenever they change. Runs in the page. */
function untilEnd() {
  return new Promise((resolve) => {
    const show = () => {
      const names = [...document.querySelectorAll("li")].map(({ textContent }) => textContent);
      globalThis.report("shown", { values: names });
      if (names.includes("end")) resolve();
    };
    new MutationObserver(show).observe(document.body, { childList: true, subtree: true });
    show();
  });
}
