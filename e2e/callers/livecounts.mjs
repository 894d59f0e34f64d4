import { max, sum } from "@kubeconnect/client";

/**
 * Counts ConfigMaps by their label "tier", with the sum and the maximum of their "size", and reports
 * the numbers whenever they change. Ends when there are none.
 */
export async function followCounts(client, namespace, report) {
  const question = {
    namespace,
    labelSelector: "tier",
    groupBy: ["metadata.labels.tier"],
    aggregates: [sum("data.size"), max("data.size")],
  };
  const counts = client.watchCounts("configmaps", { ...question, minIntervalMs: 100 });
  for await (const { total, groups, aggregates } of counts) {
    report("counts", { total, sum: aggregates[0].exact, groups: groups.map(lineOf) });
    if (total === 0) break;
  }
}

/** Returns a group as text: its tier, the number of objects, and the sum and maximum of the sizes. */
function lineOf({ values, count, aggregates: [sum, max] }) {
  return [...values, count, sum.exact, max.value].join(" ");
}
