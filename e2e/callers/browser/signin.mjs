// Signs in with a token that is wrong, then with one that is good, and out again.
//
// node signin.mjs ADDRESS TOKEN ROWS FOLDER

import { tell } from "../tell.mjs";
import { overflow, screenshot, untilConnection, untilRows, withPage } from "./page.mjs";
import { enterWrongToken, signIn, untilAsked, untilDismissed } from "./signindialog.mjs";

const [address, token, rows, folder] = process.argv.slice(2);

await withPage(address, async (page) => {
  tell("asked", { words: await untilAsked(page) });
  await screenshot(page, folder, "sign-in");

  await page.keyboard.press("Escape");
  await untilDismissed(page);
  tell("dismissed", { words: await page.textContent("#notice") });
  await screenshot(page, folder, "sign-in-dismissed");
  await page.click("#sign-in");
  await untilAsked(page);

  tell("refused", { words: await enterWrongToken(page, token.slice(0, -9)) });
  await screenshot(page, folder, "sign-in-refused");

  const caller = await signIn(page, token);
  await untilConnection(page, "live");
  const names = await untilRows(page, Number(rows));
  tell("signed in", { caller, names, kept: await placesOf(page, token) });
  await screenshot(page, folder, "signed-in");

  await page.setViewportSize({ width: 390, height: 844 });
  await screenshot(page, folder, "signed-in-phone");
  tell("on a phone", { overflow: await overflow(page) });

  await page.click("#sign-out");
  await untilAsked(page);
  tell("signed out", {
    names: await untilRows(page, 0),
    caller: await page.textContent("#caller"),
  });

  await signIn(page, token);
  await untilRows(page, Number(rows));
  await page.reload();
  tell("asked again", { words: await untilAsked(page) });
});

/** Where in the page a secret is, of all the places that scripts and people can look at. */
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
