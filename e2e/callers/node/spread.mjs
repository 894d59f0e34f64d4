// What many clients hold of the ConfigMaps of a namespace, each by a connection of its own.
//
// node spread.mjs ADDRESS NAMESPACE COUNT
//
// After each batch, a line of JSON has the values of the ConfigMap "one" that there are among
// the clients, and how often their watches began, were lost and are stale. The value "end" of
// all clients ends it.

import { connect, follow } from "@kubeconnect/client/node";
import { tell } from "../tell.mjs";

const [address, namespace, count] = process.argv.slice(2);
const values = Array(Number(count)).fill("");
const stale = Array(Number(count)).fill(false);
let resets = 0;
let losses = 0;

await Promise.all(values.map((_, place) => hold(place)));

async function hold(place) {
  const client = connect(address);
  const open = (signal, resumeToken) =>
    client.watch("configmaps", { namespace }, { signal, resumeToken }).batches();
  const stop = new AbortController();
  const options = { signal: stop.signal, onRetry: () => losses++ };
  for await (const { events, freshness } of follow(open, options)) {
    stale[place] = freshness?.stale ?? stale[place];
    for (const { type, object } of events) {
      if (type === "RESET") resets++;
      if (object?.name === "one") values[place] = object.value.data.key;
    }
    const some = { values: [...new Set(values)].sort(), resets, losses };
    tell("spread", { ...some, stale: stale.filter(Boolean).length });
    if (values[place] === "end") break;
  }
  client.close();
}
