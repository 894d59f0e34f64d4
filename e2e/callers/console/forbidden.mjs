// Signs in a caller who may read nothing, until there is a permission for one namespace.
//
// node forbidden.mjs ADDRESS TOKEN NAMESPACE POD

import { withPage } from "../browser/page.mjs";
import { report } from "../report.mjs";
import { signIn, untilAsked, untilOrder } from "./console.mjs";

const [address, token, namespace, pod] = process.argv.slice(2);

await withPage(`${address}/r/pods?ns=${namespace}`, async (page) => {
  await untilAsked(page);
  const caller = await signIn(page, token);
  const alert = page.getByRole("alert");
  await alert.waitFor();
  report("forbidden", { words: await alert.innerText(), caller });

  const again = alert.getByRole("button", { name: "Try again" });
  const isRead = untilOrder(page, [pod]);
  while ((await again.count()) > 0) await again.click({ timeout: 5_000 }).catch(() => undefined);
  await isRead;
  report("granted", { alerts: await alert.count() });

  await page.goto(`${address}/r/pods`);
  await untilAsked(page);
  await signIn(page, token);
  await untilOrder(page, [pod]);
  const notice = page.getByText("Only the namespaces that you may list");
  report("all namespaces", { words: await notice.innerText() });
});
