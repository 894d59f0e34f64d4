// Signs in with an issuer, goes to other views, and signs out of the console and of the issuer.
//
// node signin-issuer.mjs ADDRESS ISSUER KEY GROUPS_NAMESPACE USERS_NAMESPACE OTHER_NAMESPACE FOLDER

import { withPage } from "../browser/page.mjs";
import { report } from "../report.mjs";
import { axeScript, faultsOf } from "./axe.mjs";
import { placesOf, signOut, untilHealth, untilRows, userOf } from "./console.mjs";
import { goToIssuer, logIn, secretsFrom, trusting } from "./issuer.mjs";

const [address, issuer, key, groups, users, other, folder] = process.argv.slice(2);

await withPage(
  `${address}/favicon.svg`,
  async (page) => {
    await page.context().addInitScript({ path: axeScript });
    const secrets = secretsFrom(page, issuer);
    await page.goto(`${address}/r/configmaps?ns=${groups}&sort=metadata.name#top`);
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    report("asked", { faults: await faultsOf(page, folder, "sign-in-issuer") });

    await goToIssuer(page, issuer);
    await logIn(page);
    await untilHealth(page, "Live");
    const names = await untilRows(page, 3);
    report("signed in", {
      names,
      user: await userOf(page),
      address: page.url(),
    });
    report("kept", {
      tokens: secrets.tokens.length,
      places: await places(page, secrets),
    });

    await goTo(page, `/r/configmaps?ns=${users}`);
    report("as the user", { names: await untilRows(page, 1) });
    await goTo(page, `/r/configmaps?ns=${other}`);
    report("forbidden", {
      words: await page.getByRole("alert").first().innerText(),
    });

    await signOut(page);
    const link = page.getByRole("link", { name: "Sign out of " });
    await link.waitFor();
    report("signed out", {
      tables: await page.getByRole("grid").count(),
      places: await places(page, secrets),
      faults: await faultsOf(page, folder, "signed-out-issuer"),
    });
    await link.click();
    await page.waitForURL(`${issuer}/**`);
    const shown = [...secrets.tokens, ...secrets.others].filter((each) =>
      page.url().includes(each),
    );
    report("signed out of the issuer", { shown: shown.length });
  },
  trusting(issuer, key),
);

/** Goes to another view without loading the page again. */
async function goTo(page, path) {
  await page.evaluate((path) => history.pushState(null, "", path), path);
}

async function places(page, { tokens, others }) {
  const found = await Promise.all([...tokens, ...others].map((each) => placesOf(page, each)));
  return found.flat();
}
