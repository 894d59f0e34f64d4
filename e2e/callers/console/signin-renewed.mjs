// Signs in with an issuer whose ID tokens are short-lived, and waits until the tokens have been
// renewed twice, so that the first one has expired.
//
// node signin-renewed.mjs ADDRESS ISSUER KEY NAMESPACE ROWS_BEFORE ROWS_AFTER

import { withPage } from "../browser/page.mjs";
import { report } from "../report.mjs";
import { placesOf, untilHealth, untilRows } from "./console.mjs";
import { goToIssuer, logIn, secretsFrom, trusting } from "./issuer.mjs";

const [address, issuer, key, namespace, before, after] = process.argv.slice(2);

await withPage(
  `${address}/r/configmaps?ns=${namespace}`,
  async (page) => {
    const secrets = secretsFrom(page, issuer);
    await goToIssuer(page, issuer);
    await logIn(page);
    await untilHealth(page, "Live");
    report("live", { names: await untilRows(page, Number(before)) });

    const isRenewal = (response) =>
      response.request().postData()?.includes("grant_type=refresh_token") && response.ok();
    await page.waitForResponse(isRenewal);
    await page.waitForResponse(isRenewal);
    report("renewed", { names: await untilRows(page, Number(before)) });

    const names = await untilRows(page, Number(after));
    await untilHealth(page, "Live");
    const found = await Promise.all(
      [...secrets.tokens, ...secrets.others].map((each) => placesOf(page, each)),
    );
    report("live again", {
      names,
      places: found.flat(),
      dialogs: await page.getByRole("dialog").count(),
      tokens: new Set(secrets.tokens).size,
    });
  },
  trusting(issuer, key),
);
