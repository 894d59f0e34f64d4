// Signs in a caller who may read nothing, until there is a permission for one namespace.
//
// node forbidden.mjs ADDRESS TOKEN NAMESPACE POD

import { withPage } from "../browser/page.mjs";
import { report } from "../report.mjs";
import { rowOf, signIn, untilAsked, untilOrder } from "./console.mjs";

const [address, token, namespace, pod] = process.argv.slice(2);

await withPage(`${address}/r/pods?ns=${namespace}`, async (page) => {
  await untilAsked(page);
  const caller = await signIn(page, token);
  const alert = page.getByRole("alert");
  await alert.waitFor();
  report("forbidden", { words: await alert.innerText(), caller });

  const again = alert.getByRole("button", { name: "Try again" });
  const row = rowOf(page, pod);
  while (!(await row.isVisible())) {
    if (await again.isVisible()) await again.click();
    await row.or(again).first().waitFor();
  }
  report("granted", { alerts: await alert.count() });

  await page.goto(`${address}/r/pods`);
  await untilAsked(page);
  await signIn(page, token);
  await untilOrder(page, [pod]);
  const notice = page.getByText("Only the namespaces that you may list");
  report("all namespaces", { words: await notice.innerText() });
});
