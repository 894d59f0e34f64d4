/**
 * Follows a page of ConfigMaps, sorted by their label "rank", and reports each of its states. Scrolls
 * by two objects when there are six, and ends when there are none.
 *
 * @param resets The snapshots that were sent: see resets.mjs.
 */
export async function followPage(client, namespace, resets, report) {
  const page = client.livePage("configmaps", {
    namespace,
    labelSelector: "rank",
    orderBy: "metadata.labels.rank",
    fields: ["metadata.labels"],
    limit: 3,
  });
  let before = [];
  for await (const { items, total, offset } of page) {
    const names = items.map(({ name, value }) => `${name}=${value.metadata.labels.rank}`);
    const kept = items.filter((item) => before.includes(item)).length;
    report("page", { names, total, offset, kept, resets: resets.count });
    before = items;
    if (total === 6 && offset === 0) page.scrollTo(2);
    if (total === 0) break;
  }
}
