// Signs in with an invalid token, then with a valid one, and signs out.
//
// node signin.mjs ADDRESS TOKEN ROWS FOLDER

import { report } from "../report.mjs";
import { overflow, screenshot, untilConnection, untilRows, withPage } from "./page.mjs";
import { enterWrongToken, signIn, untilAsked, untilDismissed } from "./signindialog.mjs";

const [address, token, rows, folder] = process.argv.slice(2);

await withPage(address, async (page) => {
  report("asked", { words: await untilAsked(page) });
  await screenshot(page, folder, "sign-in");

  await page.keyboard.press("Escape");
  await untilDismissed(page);
  report("dismissed", { words: await page.textContent("#notice") });
  await screenshot(page, folder, "sign-in-dismissed");
  await page.click("#sign-in");
  await untilAsked(page);

  report("refused", { words: await enterWrongToken(page, token.slice(0, -9)) });
  await screenshot(page, folder, "sign-in-refused");

  const caller = await signIn(page, token);
  await untilConnection(page, "live");
  const names = await untilRows(page, Number(rows));
  report("signed in", { caller, names, kept: await placesOf(page, token) });
  await screenshot(page, folder, "signed-in");

  await page.setViewportSize({ width: 390, height: 844 });
  await screenshot(page, folder, "signed-in-phone");
  report("on a phone", { overflow: await overflow(page) });

  await page.click("#sign-out");
  await untilAsked(page);
  report("signed out", {
    names: await untilRows(page, 0),
    caller: await page.textContent("#caller"),
  });

  await signIn(page, token);
  await untilRows(page, Number(rows));
  await page.reload();
  report("asked again", { words: await untilAsked(page) });
});

/** Returns the places of the page that contain a secret, of all that scripts and users can read. */
function placesOf(page, secret) {
  return page.evaluate(async (secret) => {
    const fields = [...document.querySelectorAll("input, textarea")];
    const places = {
      address: location.href,
      history: JSON.stringify(history.state),
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
