// Opens pages whose objects are written by an attacker, and reports for each what has gone wrong: code that
// ran, links that lead elsewhere, elements of the attacker, and a page that is gone.
//
// node hostile.mjs ADDRESS PATH...

import { withPage } from "../browser/page.mjs";
import { report } from "../report.mjs";

const [address, ...paths] = process.argv.slice(2);

await withPage(address, async (page) => {
  const view = page.getByRole("main");
  const content = view.locator("[data-tone], [role=gridcell] a, [role=tabpanel]");
  const nothing = view.getByText(/No evils|does not accept/);
  for (const path of paths) {
    await page.goto(`${address}${path}`);
    await content.or(nothing).first().waitFor();
    report("opened", { path, problems: await page.evaluate(findProblems) });
  }
});

/** Looks at the page, in the browser. */
function findProblems() {
  const found = [];
  if (window.attacked !== undefined) found.push("code of an object ran");
  if (document.querySelector("nav") === null) found.push("the page is gone");
  for (const link of document.querySelectorAll("a")) {
    if (!link.href.startsWith(`${location.origin}/`)) found.push(`a link to ${link.href}`);
  }
  for (const name of ["img", "script", "iframe", "object", "embed", "base", "form"]) {
    const inBody = document.body.querySelectorAll(name);
    if (inBody.length > 0) found.push(`${inBody.length} elements ${name}`);
  }
  const longest = Math.max(
    ...[...document.querySelectorAll("[role=gridcell]")].map(
      ({ textContent }) => textContent.length,
    ),
  );
  if (longest > 10_000) found.push(`a cell of ${longest} characters`);
  return found;
}
