// A Node.js program that reads objects with their related objects.
//
// node joins.mjs grpc|connect|web ADDRESS NAMESPACE
//
// "web" is the client for browsers. The program prints the deployments of pods, and each number of
// pods of the Deployment "web", as lines of JSON. It ends when that number is 5.

import { connect } from "@kubeconnect/client/node";
import { connect as connectWeb } from "@kubeconnect/client/web";
import { report } from "../report.mjs";

const [protocol, address, namespace] = process.argv.slice(2);
const client = protocol === "web" ? connectWeb(address) : connect(address, { protocol });
try {
  await listPods();
  await followDeployment();
} finally {
  client.close?.();
}

/** Lists pods with their deployments. */
async function listPods() {
  const owner = { type: "ownerOf", resource: "deployments", fields: ["spec.replicas"] };
  const { objects } = await client.list("pods", { namespace, joins: { owner } }).all();
  const owners = objects.map(({ joined }) => joined.owner.objects[0]);
  report("listed", {
    owners: owners.map((deployment) => `${deployment.name} ${deployment.value.spec.replicas}`),
  });
}

/** Follows a deployment with the number of its pods. */
async function followDeployment() {
  const pods = { type: "selectedBy", resource: "pods" };
  for await (const { items } of client.livePage("deployments", { namespace, joins: { pods } })) {
    const [web] = items;
    report("page", { name: web.name, pods: web.joined.pods.count });
    if (web.joined.pods.count === 5) break;
  }
}
