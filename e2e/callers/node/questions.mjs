// What a program asks a cluster beside lists and watches of selectors.
//
// node questions.mjs PROTOCOL ADDRESS NAMESPACE
//
// Each answer is told as a line of JSON.

import { connect } from "@kubeconnect/client/node";
import { tell } from "../tell.mjs";

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

/** Lists by an expression, in an order, some fields. */
async function listSomeFields() {
  const selection = { namespace, filter, orderBy: "data.size desc", pageSize: 1 };
  const { objects, warnings } = await client.list("configmaps", selection, { fields }).all();
  const contents = objects.map(({ value }) => value);
  tell("listed", { contents, total: objects.length, warnings });
}

/** Watches by an expression some fields: of a change beside them nothing is told. */
async function watchSomeFields() {
  const changes = [];
  for await (const event of client.watch("configmaps", { namespace, filter }, { fields })) {
    if (event.type === "SYNCED") {
      await change("large", { metadata: { labels: { a: "b" } } });
      await change("small", { data: { size: "1" } });
      await change("small", { data: { size: "2" } });
    } else if (event.object) {
      changes.push([event.type, event.object.name]);
    }
    if (event.type === "DELETED") break;
  }
  tell("watched", { changes });
}

/** Changes one object. */
async function change(name, body) {
  await client.patch("configmaps", { namespace, name }, { type: "merge", body });
}

/** Lists and watches what has to do with a Deployment. */
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
  tell("related", {
    owned: pods.map(({ name }) => name).sort(),
    owners: owners.map(({ name }) => name),
    selected: selected.sort(),
    subjects: [...new Set(events.map(({ value }) => value.involvedObject.name))].sort(),
  });
}

/** Counts, in all and by values. */
async function countPods() {
  const groupBy = ["metadata.labels.app", "metadata.labels.none"];
  const { total, groups, remainingGroups } = await client.count("pods", { namespace }, { groupBy });
  tell("counted", { total, groups, remaining: remainingGroups });
}

/** Reads an object from memory and at the API server, and its subresource. */
async function readAtTheAPIServer() {
  const cached = await client.get("deployments", web);
  const latest = await client.get("deployments", web, { consistency: "latest" });
  const scale = await client.get("deployments", web, { subresource: "scale" });
  tell("latest", {
    version: latest.resourceVersion,
    replicas: scale.value.spec.replicas,
    kind: scale.value.kind,
    atAPIServer: [cached, latest, scale].map(({ source }) => source === "apiServer"),
  });
}

/** Gets an object's metadata and nothing else. */
async function getMetadata() {
  const name = { namespace, name: "large" };
  const { value } = await client.get("configmaps", name, { metadataOnly: true });
  tell("metadata", {
    kind: value.kind,
    members: Object.keys(value).sort(),
    name: value.metadata.name,
  });
}

/** Reads a table, two rows for a page. */
async function printPods() {
  const { columns, rows } = await client.table("pods", { namespace, pageSize: 2 }).all();
  tell("printed", {
    columns: columns.map(({ name }) => name),
    names: rows.map(({ cells }) => cells[0]),
  });
}

/** Asks what the cluster serves. */
async function discover() {
  const { types } = await client.resourceTypes({ group: "apps" });
  const { schema } = await client.schema("deployments");
  tell("discovered", {
    resources: types.map(({ kind }) => kind.resource),
    members: Object.keys(schema.properties).sort(),
  });
}
