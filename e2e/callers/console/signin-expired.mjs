// Signs in with a token that expires while the page is shown, and then with another token.
//
// node signin-expired.mjs ADDRESS NAMESPACE EXPIRING_TOKEN TOKEN ROWS_BEFORE ROWS_AFTER FOLDER

import { withPage } from "../browser/page.mjs";
import { report } from "../report.mjs";
import { screenshot, signIn, untilAsked, untilHealth, untilRows } from "./console.mjs";

const [address, namespace, expiring, token, before, after, folder] = process.argv.slice(2);

await withPage(`${address}/r/pods?ns=${namespace}&sort=metadata.name`, async (page) => {
  await untilAsked(page);
  await signIn(page, expiring);
  await untilHealth(page, "Live");
  report("live", { names: await untilRows(page, Number(before)), address: page.url() });

  const dialog = page.getByRole("dialog", { name: "Sign in again" });
  await dialog.waitFor();
  await screenshot(page, folder, "sign-in-expired");
  report("expired", {
    words: await dialog.innerText(),
    names: await untilRows(page, Number(before)),
    address: page.url(),
  });

  await signIn(page, token);
  await untilHealth(page, "Live");
  report("live again", { names: await untilRows(page, Number(after)), address: page.url() });
});
