// Signs in with an invalid token, then with a valid one, and signs out.
//
// node signin.mjs ADDRESS NAMESPACE TOKEN ROWS FOLDER

import { withPage } from "../browser/page.mjs";
import { report } from "../report.mjs";
import {
  enterToken,
  overflow,
  placesOf,
  screenshot,
  signIn,
  signOut,
  untilAsked,
  untilHealth,
  untilRows,
} from "./console.mjs";

const [address, namespace, token, rows, folder] = process.argv.slice(2);

await withPage(`${address}/r/pods?ns=${namespace}`, async (page) => {
  report("asked", { words: await untilAsked(page) });
  await screenshot(page, folder, "sign-in");

  await enterToken(page, token.slice(0, -9));
  const alert = page.getByRole("alert");
  await alert.waitFor();
  report("refused", { words: await alert.textContent() });
  await screenshot(page, folder, "sign-in-refused");

  const caller = await signIn(page, token);
  await untilHealth(page, "Live");
  const names = await untilRows(page, Number(rows));
  report("signed in", { caller, names, kept: await placesOf(page, token) });
  await screenshot(page, folder, "signed-in");

  await page.setViewportSize({ width: 390, height: 844 });
  await screenshot(page, folder, "signed-in-small");
  report("small", { overflow: await overflow(page) });
  await page.setViewportSize({ width: 1440, height: 900 });

  await signOut(page);
  await untilAsked(page);
  report("signed out", { tables: await page.getByRole("grid").count() });

  await signIn(page, token);
  await untilRows(page, Number(rows));
  await page.reload();
  report("asked again", { words: await untilAsked(page), address: page.url() });
});
