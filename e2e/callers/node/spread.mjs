// A Node.js program with many clients that watch the ConfigMaps of a namespace, each over its own
// connection.
//
// node spread.mjs ADDRESS NAMESPACE COUNT
//
// After each batch it prints a line of JSON with the distinct values of the ConfigMap "one" in the
// clients, the numbers of resets and losses of their watches, and the number of stale watches. It
// ends when all clients have the value "end".

import { connect } from "@kubeconnect/client/node";
import { report } from "../report.mjs";

const [address, namespace, count] = process.argv.slice(2);
const values = Array(Number(count)).fill("");
const stale = Array(Number(count)).fill(false);
let resets = 0;
let losses = 0;

await Promise.all(values.map((_, index) => watch(index)));

/** Watches the ConfigMaps with a new client, and stores its value of "one" at the index. */
async function watch(index) {
  const client = connect(address);
  const watch = client.watch("configmaps", { namespace, onRetry: () => losses++ });
  for await (const { events, freshness } of watch.batches()) {
    stale[index] = freshness?.stale ?? stale[index];
    for (const { type, object } of events) {
      if (type === "RESET") resets++;
      if (object?.name === "one") values[index] = object.value.data.key;
    }
    const some = { values: [...new Set(values)].sort(), resets, losses };
    report("spread", { ...some, stale: stale.filter(Boolean).length });
    if (values[index] === "end") break;
  }
  client.close();
}
