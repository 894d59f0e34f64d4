// Helpers for the pages of the console. They find elements by role and name, as a screen reader
// does.

/** Waits until the top bar shows this state of the connection, and returns its words. */
export async function untilHealth(page, words) {
  const status = page.getByRole("banner").getByRole("status").filter({ hasText: words });
  await status.waitFor();
  return status.textContent();
}

/** Waits until the table has as many rows, and returns the sorted names of its objects. */
export async function untilRows(page, count) {
  const names = await page.waitForFunction((count) => {
    const grid = document.querySelector("[role=grid]");
    const links = [...(grid?.querySelectorAll("[role=row] a") ?? [])];
    const isComplete = links.length === count && grid.ariaRowCount === String(count + 1);
    return isComplete && links.map((link) => link.textContent).sort();
  }, count);
  return names.jsonValue();
}

/** Waits until the rows of the table are these objects, in this order. */
export async function untilOrder(page, names) {
  await page.waitForFunction((names) => {
    const rows = [...document.querySelectorAll("[role=grid] [role=row]:has(a)")];
    rows.sort((a, b) => Number(a.ariaRowIndex) - Number(b.ariaRowIndex));
    return rows.map((row) => row.querySelector("a").textContent).join() === names.join();
  }, names);
}

/** Returns the row of an object. */
export function rowOf(page, name) {
  return page
    .getByRole("grid")
    .getByRole("row")
    .filter({ has: page.getByRole("link", { name, exact: true }) });
}

/** Saves a screenshot, with all animations finished. */
export async function screenshot(page, folder, name) {
  await page.screenshot({ path: `${folder}/${name}.png`, animations: "disabled" });
}

/** Returns the horizontal overflow of the page in pixels. */
export function overflow(page) {
  return page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
}

/** Waits until the page asks for a token, and returns what it says. */
export async function untilAsked(page) {
  await page.getByLabel("Bearer token").and(page.locator(":focus")).waitFor();
  return page.locator("form").innerText();
}

/** Enters a token and sends it. */
export async function enterToken(page, token) {
  await page.getByLabel("Bearer token").fill(token);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
}

/** Enters a token that is accepted, and returns the shown user. */
export async function signIn(page, token) {
  await enterToken(page, token);
  await page.getByLabel("Bearer token").waitFor({ state: "hidden" });
  return userOf(page);
}

/** Returns the shown user. */
export async function userOf(page) {
  const label = await page
    .getByRole("button", { name: "User menu of " })
    .getAttribute("aria-label");
  return label.slice("User menu of ".length);
}

export async function signOut(page) {
  await page.getByRole("button", { name: "User menu of " }).click();
  await page.getByRole("button", { name: "Sign out" }).click();
}

/** Returns the places of the page that contain a secret, of all that scripts and users can read. */
export function placesOf(page, secret) {
  return page.evaluate(async (secret) => {
    const fields = [...document.querySelectorAll("input, textarea")];
    const places = {
      address: location.href,
      history: JSON.stringify([history.state, navigation.entries().map(({ url }) => url)]),
      cookies: document.cookie,
      localStorage: JSON.stringify({ ...localStorage }),
      sessionStorage: JSON.stringify({ ...sessionStorage }),
      databases: JSON.stringify(await indexedDB.databases()),
      caches: JSON.stringify(await caches.keys()),
      document: document.documentElement.outerHTML,
      fields: fields.map((field) => field.value).join("\n"),
      globals: Object.values(window)
        .filter((value) => typeof value === "string")
        .join("\n"),
    };
    return Object.keys(places).filter((place) => places[place].includes(secret));
  }, secret);
}
