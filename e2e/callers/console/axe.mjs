// Checks a page for WCAG 2.2 AA with axe, light and dark, on a desktop and on a small screen.

import { createRequire } from "node:module";

import { overflow, screenshot } from "./console.mjs";

/** The script of axe, for the option of a browser context that runs scripts in each page. */
export const axeScript = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

const sizes = { desktop: { width: 1440, height: 900 }, small: { width: 390, height: 844 } };
const rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];

/** Takes screenshots of a page in all looks, and returns what is wrong with each. */
export async function faultsOf(page, folder, name) {
  const faults = [];
  for (const [size, viewport] of Object.entries(sizes)) {
    await page.setViewportSize(viewport);
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      const look = `${name}-${size}-${colorScheme}`;
      await screenshot(page, folder, look);
      const pixels = await overflow(page);
      if (pixels > 0) faults.push(`${look}: horizontal overflow of ${pixels} pixels`);
      for (const violation of await violationsOf(page)) faults.push(`${look}: ${violation}`);
    }
  }
  return faults;
}

/** Returns the violations of the page, each with the first elements. */
async function violationsOf(page) {
  const { violations } = await page.evaluate(
    (values) =>
      globalThis.axe.run({ runOnly: { type: "tag", values }, resultTypes: ["violations"] }),
    rules,
  );
  return violations.map(({ id, nodes }) => {
    const elements = nodes.slice(0, 3).map(({ target, any, all }) => {
      const [{ message } = { message: "" }] = [...any, ...all];
      return `${target.flat().join(" ")} (${message})`;
    });
    return `${id}: ${nodes.length} elements: ${elements.join("; ")}`;
  });
}
