// A Node.js program that uses the reads other than lists and watches of selectors.
//
// node questions.mjs PROTOCOL ADDRESS NAMESPACE
//
// It prints each result as a line of JSON.

import { connect } from "@kubeconnect/client/node";
import { report } from "../report.mjs";

const filter = "object.data.size != '2'";
const fields = ["data.size"];
const [protocol, address, namespace] = process.argv.slice(2);
const web = { namespace, name: "web" };
const client = connect(address, { protocol });
try {
  await listSomeFields();
  await watchSomeFields();
  await listRelatives();
  await countPods();
  await readAtTheAPIServer();
  await getMetadata();
  await printPods();
  await discover();
} finally {
  client.close();
}

/** Lists some fields of objects, by a filter and in an order. */
async function listSomeFields() {
  const options = { namespace, filter, orderBy: "data.size desc", pageSize: 1, fields };
  const { objects, warnings } = await client.list("configmaps", options).all();
  const contents = objects.map(({ value }) => value);
  report("listed", { contents, total: objects.length, warnings });
}

/** Watches some fields of objects, by a filter. A change of other fields produces no event. */
async function watchSomeFields() {
  const changes = [];
  for await (const event of client.watch("configmaps", { namespace, filter, fields })) {
    if (event.type === "SYNCED") {
      await change("large", { metadata: { labels: { a: "b" } } });
      await change("small", { data: { size: "1" } });
      await change("small", { data: { size: "2" } });
    } else if (event.object) {
      changes.push([event.type, event.object.name]);
    }
    if (event.type === "DELETED") break;
  }
  report("watched", { changes });
}

/** Changes one object. */
async function change(name, body) {
  await client.patch("configmaps", { namespace, name }, { type: "merge", body });
}

/** Lists and watches the objects related to a Deployment. */
async function listRelatives() {
  const deployment = { resource: "deployments", ...web };
  const related = { type: "ownedBy", transitive: true, ...deployment };
  const { objects: pods } = await client.list("pods", { related }).all();
  const { name, uid } = pods[0];
  const pod = { type: "ownerOf", resource: "pods", namespace, name, uid };
  const { objects: owners } = await client.list("replicasets", { related: pod }).all();
  const subject = { type: "about", ...deployment };
  const { objects: events } = await client.list("events", { namespace, related: subject }).all();
  const selected = [];
  const selector = { type: "selectedBy", ...deployment };
  for await (const event of client.watch("pods", { related: selector })) {
    if (event.type === "SYNCED") break;
    if (event.object) selected.push(event.object.name);
  }
  report("related", {
    owned: pods.map(({ name }) => name).sort(),
    owners: owners.map(({ name }) => name),
    selected: selected.sort(),
    subjects: [...new Set(events.map(({ value }) => value.involvedObject.name))].sort(),
  });
}

/** Counts pods, in total and by values. */
async function countPods() {
  const groupBy = ["metadata.labels.app", "metadata.labels.none"];
  const { total, groups, remainingGroupCount } = await client.count("pods", { namespace, groupBy });
  report("counted", { total, groups, remaining: remainingGroupCount });
}

/** Reads an object from the cache and from the API server, and its subresource. */
async function readAtTheAPIServer() {
  const cached = await client.get("deployments", web);
  const latest = await client.get("deployments", web, { consistency: "latest" });
  const scale = await client.get("deployments", web, { subresource: "scale" });
  report("latest", {
    version: latest.resourceVersion,
    replicas: scale.value.spec.replicas,
    kind: scale.value.kind,
    atAPIServer: [cached, latest, scale].map(({ source }) => source === "apiServer"),
  });
}

/** Gets only the metadata of an object. */
async function getMetadata() {
  const name = { namespace, name: "large" };
  const { value } = await client.get("configmaps", name, { metadataOnly: true });
  report("metadata", {
    kind: value.kind,
    members: Object.keys(value).sort(),
    name: value.metadata.name,
  });
}

/** Reads a table, two rows per page. */
async function printPods() {
  const { columns, rows } = await client.table("pods", { namespace, pageSize: 2 }).all();
  report("printed", {
    columns: columns.map(({ name }) => name),
    names: rows.map(({ cells }) => cells[0]),
  });
}

/** Reads the resource types and a schema of the cluster. */
async function discover() {
  const { types } = await client.resourceTypes({ group: "apps" });
  const { schema } = await client.schema("deployments");
  report("discovered", {
    resources: types.map(({ resource }) => resource.plural),
    members: Object.keys(schema.properties).sort(),
  });
}
