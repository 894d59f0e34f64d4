// Helpers for the sign-in dialog.

/** Waits until the dialog is open and its field is focused, and returns the shown reason. */
export async function untilAsked(page) {
  await page.waitForSelector("#sign-in-dialog[open] #sign-in-token:focus");
  return page.textContent("#sign-in-reason");
}

/** Enters a token. */
export async function enterToken(page, token) {
  await page.fill("#sign-in-token", token);
  await page.press("#sign-in-token", "Enter");
}

/** Enters a token that is rejected, and returns the shown error. */
export async function enterWrongToken(page, token) {
  await enterToken(page, token);
  await page.waitForSelector("#sign-in-error:not([hidden])");
  return page.textContent("#sign-in-error");
}

/** Enters a token that is accepted, and returns the shown user. */
export async function signIn(page, token) {
  await enterToken(page, token);
  await untilDismissed(page);
  return page.textContent("#caller");
}

export async function untilDismissed(page) {
  await page.waitForSelector("#sign-in-dialog[open]", { state: "hidden" });
}
