// A Node.js program that follows and leaves stores, live pages and counts of ConfigMaps at random.
//
// node livestorm.mjs PROTOCOL ADDRESS CONTROL_ADDRESS NAMESPACE
//
// ADDRESS may fail at any time after the program has reported "ready"; CONTROL_ADDRESS is reliable. When the
// ConfigMap "control" has a new `data.round`, the program compares what it follows with lists, and reports
// "checked" when all are equal. Ends, without closing its client, when the round is "end".

import { connect } from "@kubeconnect/client/node";
import { connect as connectWeb } from "@kubeconnect/client/web";
import { checkedCount, colorOf, followChecked, linesOf, problems } from "../livechecks.mjs";
import { report } from "../report.mjs";

const [protocol, address, controlAddress, namespace] = process.argv.slice(2);
const mostFollowed = 24;
const client = protocol === "web" ? connectWeb(address) : connect(address, { protocol });
const control = connect(controlAddress);
const labelSelector = `of=${namespace}`;
const selections = [
  { labelSelector },
  { labelSelector, namespace },
  { labelSelector: `${labelSelector},color=red` },
  { labelSelector, filter: "object.data.number.endsWith('0')" },
  { labelSelector, metadataOnly: true },
  { labelSelector, patches: true },
];
const pick = (list) => list[Math.floor(Math.random() * list.length)];
const pending = new Map(); // promises of `ready` that have not settled, with their names
let number = 0;
const followed = [];
const left = [];

function newLive() {
  const name = `${++number}`;
  const selection = pick(selections);
  const kind = pick(["store", "store", "page", "counts", "rejected"]);
  if (kind === "page") {
    const { patches, ...options } = selection;
    const page = client.livePage("configmaps", {
      ...options,
      orderBy: "data.number desc",
      limit: 5,
    });
    return { name: `page ${name}`, live: page, equals: () => equalsPage(page, options) };
  }
  if (kind === "counts") {
    const { patches, metadataOnly, ...options } = selection;
    const asked = { ...options, groupBy: ["metadata.labels.color"] };
    const counts = client.watchCounts("configmaps", { ...asked, minIntervalMs: 100 });
    return { name: `counts ${name}`, live: counts, equals: () => equalsCounts(counts, asked) };
  }
  if (kind === "rejected") {
    const store = client.store("configmaps", { filter: "object.(" });
    return {
      name: `rejected ${name}`,
      live: store,
      equals: () => store.error !== undefined && store.snapshot === undefined,
    };
  }
  const store = client.store("configmaps", {
    ...selection,
    indexes: { color: (value) => [colorOf(value)] },
  });
  store.indexed = true;
  return { name: `store ${name}`, live: store, equals: () => equalsList(store, selection) };
}

async function equalsList(store, { patches, ...selection }) {
  const { objects } = await control
    .list("configmaps", { ...selection, minResourceVersion: target })
    .all();
  return (
    store.snapshot !== undefined && String(linesOf(store.list())) === String(linesOf(objects))
  );
}

async function equalsPage(page, selection) {
  const { objects } = await control
    .list("configmaps", { ...selection, orderBy: "data.number desc", minResourceVersion: target })
    .all();
  const expected = objects.slice(page.offset, page.offset + 5);
  return (
    !page.scrolling &&
    page.total === objects.length &&
    String(linesOf(page.items)) === String(linesOf(expected))
  );
}

async function equalsCounts(counts, asked) {
  const { total, groups } = await control.count("configmaps", {
    ...asked,
    minResourceVersion: target,
  });
  const lines = (of) => String(of.map(({ values, count }) => `${values}=${count}`).sort());
  return counts.snapshot?.total === total && lines(counts.snapshot.groups) === lines(groups);
}

function follow(entry) {
  entry.leave = followChecked(entry.live, entry.name);
  const { live, name } = entry;
  if (live.open && Math.random() < 0.5) {
    const opened = `open of ${name}`;
    pending.set(opened, live);
    live.open().then(
      () => pending.delete(opened),
      () => pending.delete(opened),
    );
    const leave = entry.leave;
    entry.leave = () => {
      leave();
      live.close();
    };
  }
  if (live.open && Math.random() < 0.5) {
    const ready = `ready of ${name}`;
    pending.set(ready, live);
    live.ready.then(
      () => pending.delete(ready),
      () => pending.delete(ready),
    );
  }
  followed.push(entry);
}

function step() {
  const chance = Math.random();
  if (followed.length < mostFollowed && chance < 0.4) follow(newLive());
  else if (left.length > 0 && chance < 0.5)
    follow(left.splice(Math.floor(Math.random() * left.length), 1)[0]);
  else if (followed.length > 0 && chance < 0.8) {
    const [entry] = followed.splice(Math.floor(Math.random() * followed.length), 1);
    entry.leave();
    if (Math.random() < 0.5) left.push(entry);
  } else {
    const pages = followed.filter(({ live }) => live.scrollTo);
    if (pages.length > 0) scroll(pick(pages).live);
  }
}

function scroll(page) {
  const item = pick(page.items);
  if (item && Math.random() < 0.5) page.scrollTo({ after: item });
  else page.scrollTo(Math.floor(Math.random() * 12));
}

let target = "";
let storm;
function begin() {
  storm = setInterval(step, 10);
}

/**
 * Checks everything that is followed, until it is equal and no promise is pending: a store that was left
 * before its first snapshot remains in the stream until its promises have settled.
 */
async function check(round) {
  clearInterval(storm);
  let different = followed;
  let reported = "";
  for (;;) {
    const equal = await Promise.all(different.map(({ equals }) => equals()));
    different = different.filter((_, i) => !equal[i]);
    if (different.length === 0 && pending.size === 0) break;
    const names = different.map(
      ({ name, live }) =>
        `${name} ${live.connection.state} ${live.error?.message} ${live.scrolling}`,
    );
    const waiting = [...pending].map(
      ([name, live]) => `${name} ${live.connection.state} ${live.error?.message}`,
    );
    const news = String([...names, ...waiting]);
    if (news !== reported) report("different", { round, names, pending: waiting });
    reported = news;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  report("checked", { round, checkedCount, problems });
}

// A client gives up if its first stream fails, because the address may be wrong.
const first = await client.store("configmaps", { labelSelector }).open();
report("ready", {});
begin();
first.close();
for await (const event of control.watch("configmaps", { namespace, name: "control" })) {
  const { data, metadata } = event.object?.value ?? {};
  if (!data || event.type === "DELETED") continue;
  if (data.round === "end") break;
  if (data.round === "") continue;
  target = metadata.resourceVersion;
  await check(data.round);
  begin();
}
clearInterval(storm);
for (const { leave } of followed) leave();
report("left", { problems });
