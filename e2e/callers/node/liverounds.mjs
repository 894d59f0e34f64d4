// A Node.js program that follows and leaves stores, pages and counts many times, and reports the memory and
// the resources that remain.
//
// node --expose-gc liverounds.mjs PROTOCOL ADDRESS NAMESPACE
//
// Ends without closing its client.

import { connect } from "@kubeconnect/client/node";
import { connect as connectWeb } from "@kubeconnect/client/web";
import { report } from "../report.mjs";

const warmUpRounds = 300;
const rounds = 1000;
const atOnce = 4;
const [protocol, address, namespace] = process.argv.slice(2);
const client = protocol === "web" ? connectWeb(address) : connect(address, { protocol });

await run(warmUpRounds);
const before = await measure();
await run(rounds);
const after = await measure();
await closedEarly();
report("rounds", { before, after });

async function run(count) {
  for (let round = 0; round < count; round += atOnce) {
    await Promise.all(Array.from({ length: atOnce }, (_, i) => follow(round + i)));
  }
}

/** Follows something in one of all ways, and leaves it. */
async function follow(round) {
  const selection = { namespace, labelSelector: `round!=${round % 7}` };
  switch (round % 6) {
    case 0: {
      const store = await client.store("configmaps", selection).open();
      store.close();
      return;
    }
    case 1:
      return client.store("configmaps", { ...selection, indexes: { all: () => ["all"] } }).ready;
    case 2:
      return shown(client.livePage("configmaps", { ...selection, limit: 5 }));
    case 3:
      return shown(client.watchCounts("configmaps", selection));
    case 4: {
      for await (const { objects } of client.store("configmaps", selection)) {
        if (objects) return;
      }
      return;
    }
    default: // left at once, while the stream opens
      client.store("configmaps", selection).subscribe(() => undefined)();
  }
}

/** Subscribes until there is a snapshot. */
async function shown(store) {
  await new Promise((resolve) => {
    const leave = store.subscribe((snapshot) => {
      if (snapshot) queueMicrotask(() => resolve(leave()));
    });
  });
}

/** Nothing may be delivered after `close`, also if the snapshot is on its way. */
async function closedEarly() {
  const store = client.store("configmaps", { namespace });
  const opened = store.open();
  store.close();
  await opened;
  const aborted = new AbortController();
  const rejected = client.store("configmaps", { namespace, signal: aborted.signal }).ready;
  aborted.abort(new Error("left"));
  const reason = await rejected.then(
    () => "resolved",
    (error) => error.message,
  );
  report("settled", { reason });
}

async function measure() {
  await new Promise((resolve) => setTimeout(resolve, 200));
  for (let i = 0; i < 3; i++) globalThis.gc();
  const { heapUsed, external, arrayBuffers } = process.memoryUsage();
  return {
    bytes: heapUsed + external + arrayBuffers,
    resources: process.getActiveResourcesInfo().sort(),
  };
}
