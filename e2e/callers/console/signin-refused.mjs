// Cancels a sign-in at the issuer, opens an answer with a wrong state, and then signs in.
//
// node signin-refused.mjs ADDRESS ISSUER KEY NAMESPACE ROWS FOLDER

import { withPage } from "../browser/page.mjs";
import { report } from "../report.mjs";
import { axeScript, faultsOf } from "./axe.mjs";
import { untilHealth, untilRows } from "./console.mjs";
import { goToIssuer, logIn, secretsFrom, trusting } from "./issuer.mjs";

const [address, issuer, key, namespace, rows, folder] = process.argv.slice(2);

await withPage(
  `${address}/favicon.svg`,
  async (page) => {
    await page.context().addInitScript({ path: axeScript });
    const secrets = secretsFrom(page, issuer);
    await page.goto(`${address}/r/configmaps?ns=${namespace}`);

    await goToIssuer(page, issuer);
    await page.getByRole("button", { name: "Cancel" }).click();
    const canceled = await wordsOfAlert(page);
    const faults = await faultsOf(page, folder, "sign-in-issuer-refused");
    report("canceled", { words: canceled, address: page.url(), faults });

    await goToIssuer(page, issuer);
    await page.goto(`${address}/signin/callback?code=any&state=wrong`);
    report("wrong state", {
      words: await wordsOfAlert(page),
      tokens: secrets.tokens.length,
    });
    await page.goto(`${address}/signin/callback?code=any&state=any`);
    report("no request", {
      words: await wordsOfAlert(page),
      tokens: secrets.tokens.length,
    });

    await page.goto(`${address}/r/configmaps?ns=${namespace}`);
    await goToIssuer(page, issuer);
    await logIn(page);
    await untilHealth(page, "Live");
    report("signed in", { names: await untilRows(page, Number(rows)) });
  },
  trusting(issuer, key),
);

async function wordsOfAlert(page) {
  await page.getByRole("alert").waitFor();
  return page.getByRole("alert").innerText();
}
