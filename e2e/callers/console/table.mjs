// Shows the pods of a namespace while their number changes.
//
// node table.mjs ADDRESS NAMESPACE ROWS...

import { withPage } from "../browser/page.mjs";
import { report } from "../report.mjs";
import { untilRows } from "./console.mjs";

const [address, namespace, ...rows] = process.argv.slice(2);

await withPage(`${address}/r/pods?ns=${namespace}`, async (page) => {
  let loads = 0;
  page.on("load", () => loads++);
  for (const count of rows)
    report(`${count} rows`, { names: await untilRows(page, Number(count)) });
  report("end", { loads });
});
