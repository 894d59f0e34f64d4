import type { Grant } from "./credentials.js";
import { loadIssuer } from "./issuer.js";
import { takeAnswer, type SignInAnswer } from "./redirect.js";

/**
 * The issuer's answer, if the page was opened with one. main.tsx imports this module before all
 * others, so that the answer is no longer in the address when anything else reads the address.
 */
const answer = takeAnswer();

/** The sign-in that the answer completes; undefined if the page was opened without an answer. */
export const signIn = answer && finishSignIn(answer);

async function finishSignIn(answer: SignInAnswer): Promise<Grant> {
  const [issuer, { completeSignIn }] = await Promise.all([loadIssuer(), import("./oidc.js")]);
  if (!issuer) throw new Error("The service has no issuer to sign in with.");
  return completeSignIn(issuer, answer);
}
