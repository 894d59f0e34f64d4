// Selects a pod with a token that expires while the page is shown, and then signs in as another user.
//
// node signin-other.mjs ADDRESS NAMESPACE EXPIRING_TOKEN OTHER_TOKEN POD

import { withPage } from "../browser/page.mjs";
import { report } from "../report.mjs";
import { rowOf, signIn, untilAsked, untilHealth, userOf } from "./console.mjs";

const [address, namespace, expiring, token, pod] = process.argv.slice(2);

await withPage(`${address}/r/pods?ns=${namespace}`, async (page) => {
  await untilAsked(page);
  const first = await signIn(page, expiring);
  await rowOf(page, pod).getByRole("checkbox").click();
  const selected = page.getByRole("row", { selected: true });
  report("selected", { user: first, rows: await selected.count() });

  await page.getByRole("dialog", { name: "Sign in again" }).waitFor();
  await signIn(page, token);
  await untilHealth(page, "Live");
  await rowOf(page, pod).waitFor();
  report("another user", { user: await userOf(page), rows: await selected.count() });
});
