// The dialog in which a token is asked for.

/** Waits until it is open, with its field ready to type into, and returns what it says. */
export async function untilAsked(page) {
  await page.waitForSelector("#sign-in-dialog[open] #sign-in-token:focus");
  return page.textContent("#sign-in-reason");
}

/** Enters a token, and says no more. */
export async function enterToken(page, token) {
  await page.fill("#sign-in-token", token);
  await page.press("#sign-in-token", "Enter");
}

/** Enters a token that is refused, and returns why. */
export async function enterWrongToken(page, token) {
  await enterToken(page, token);
  await page.waitForSelector("#sign-in-error:not([hidden])");
  return page.textContent("#sign-in-error");
}

/** Enters a token that is taken, and returns whose it is. */
export async function signIn(page, token) {
  await enterToken(page, token);
  await untilDismissed(page);
  return page.textContent("#caller");
}

export async function untilDismissed(page) {
  await page.waitForSelector("#sign-in-dialog[open]", { state: "hidden" });
}
