// Signs in with an issuer that returns no refresh token, and again when the token has expired.
//
// node signin-issuer-again.mjs ADDRESS ISSUER KEY NAMESPACE ROWS FOLDER

import { withPage } from "../browser/page.mjs";
import { report } from "../report.mjs";
import { screenshot, untilHealth, untilRows } from "./console.mjs";
import { goToIssuer, logIn, trusting } from "./issuer.mjs";

const [address, issuer, key, namespace, rows, folder] = process.argv.slice(2);

await withPage(
  `${address}/r/configmaps?ns=${namespace}`,
  async (page) => {
    await goToIssuer(page, issuer);
    await logIn(page);
    await untilHealth(page, "Live");
    report("live", {
      names: await untilRows(page, Number(rows)),
      address: page.url(),
    });

    const dialog = page.getByRole("dialog", { name: "Sign in again" });
    await dialog.waitFor();
    await screenshot(page, folder, "sign-in-issuer-expired");
    report("expired", { words: await dialog.innerText() });

    await goToIssuer(page, issuer);
    await logIn(page);
    await untilHealth(page, "Live");
    report("live again", {
      names: await untilRows(page, Number(rows)),
      address: page.url(),
    });
  },
  trusting(issuer, key),
);
