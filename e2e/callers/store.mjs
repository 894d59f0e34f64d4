/**
 * Keeps a store of ConfigMaps, a store of Secrets, a page and counts of the ConfigMaps, all of one
 * client, and reports them whenever one of them changes. Ends when there is a Secret named "end".
 *
 * @param streams The streams that the client has opened: see streams.mjs.
 */
export async function followStores(client, namespace, streams, report) {
  const selection = { namespace, labelSelector: "tier" };
  const settings = client.store("configmaps", {
    ...selection,
    indexes: { tier: ({ metadata }) => [metadata.labels.tier] },
  });
  const secrets = client.store("secrets", selection);
  const page = client.livePage("configmaps", { ...selection, limit: 3 });
  const counts = client.watchCounts("configmaps", {
    ...selection,
    groupBy: ["metadata.labels.tier"],
    minIntervalMs: 100,
  });
  const all = [settings, secrets, page, counts];
  const changed = new Map();
  const leave = settings.changes(({ added, modified, deleted }) => {
    for (const { name } of deleted) changed.delete(name);
    for (const object of [...added, ...modified]) changed.set(object.name, lineOf(object));
  });
  const unsubscribers = [leave];
  await new Promise((resolve) => {
    const show = () => {
      if (all.some(({ snapshot }) => snapshot === undefined)) return;
      report("stores", {
        settings: settings.list().map(lineOf),
        changed: [...changed.values()].sort(),
        web: namesOf(settings.byIndex("tier", "web")),
        secrets: namesOf(secrets.list()),
        page: namesOf(page.items),
        total: page.total,
        counts: counts.snapshot.groups.map(({ values, count }) => `${values[0]}=${count}`).sort(),
        streams: { methods: [...streams.methods], mostOpen: streams.mostOpen },
      });
      if (secrets.get({ namespace, name: "end" })) resolve();
    };
    for (const store of all) unsubscribers.push(store.subscribe(show));
  });
  for (const unsubscribe of unsubscribers) unsubscribe();
}

function lineOf({ name, value }) {
  return `${name}=${value.metadata.labels.tier}`;
}

function namesOf(objects) {
  return objects.map(({ name }) => name);
}
