// Helpers for the sign-in with the issuer of e2e/issuer.

/** Returns the option of a browser whose pages may use the issuer. */
export function trusting(issuer, key) {
  return { also: { origin: issuer, key } };
}

/** Goes to the issuer from the sign-in page, or from the dialog after a token has expired. */
export async function goToIssuer(page, issuer) {
  await page.getByRole("button", { name: `Sign in with ${new URL(issuer).host}` }).click();
  await page.getByRole("heading", { name: "Log in at the issuer" }).waitFor();
}

/** Logs in at the issuer, which redirects to the console. */
export async function logIn(page) {
  await page.getByLabel("User").fill("ada");
  await page.getByLabel("Password").fill("correct horse");
  await page.getByRole("button", { name: "Log in" }).click();
}

/**
 * Returns the secrets that the issuer sends to the browser from now on: tokens, codes and the
 * parameters of requests for tokens.
 */
export function secretsFrom(page, issuer) {
  const secrets = { tokens: [], others: [] };
  page.on("response", async (response) => {
    const url = new URL(response.url());
    if (url.searchParams.has("code")) secrets.others.push(url.searchParams.get("code"));
    if (url.origin !== issuer || response.request().method() !== "POST") return;
    if (url.pathname !== "/oauth/token") return;
    const { id_token, access_token, refresh_token } = await response.json();
    const verifier = new URLSearchParams(response.request().postData()).get("code_verifier");
    secrets.others.push(...[access_token, refresh_token, verifier].filter(Boolean));
    secrets.tokens.push(id_token);
  });
  return secrets;
}
