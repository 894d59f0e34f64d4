// A Node.js program for Kubernetes' own API that uses the official client.
//
// node kubernetes.mjs KUBECONFIG NAMESPACE GROUP
//
// It prints each step as a line of JSON.

import { createServer } from "node:net";
import { once } from "node:events";
import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import {
  CoreV1Api,
  CustomObjectsApi,
  Exec,
  KubeConfig,
  KubernetesObjectApi,
  Log,
  PortForward,
  Watch,
  makeInformer,
} from "@kubernetes/client-node";
import { report } from "../report.mjs";

const [kubeconfig, namespace, group] = process.argv.slice(2);
const config = new KubeConfig();
config.loadFromFile(kubeconfig);
const core = config.makeApiClient(CoreV1Api);
await read();
await watchObjects();
await follow();
await fail();
await useCustomObjects();
await useContainers();
process.exit(0); // the log is still followed

/** Lists objects in pages and by labels, and gets one. */
async function read() {
  const names = [];
  let token;
  do {
    const page = await core.listNamespacedConfigMap({ namespace, limit: 2, _continue: token });
    names.push(...page.items.map((each) => each.metadata.name));
    token = page.metadata._continue;
  } while (token);
  report("listed", { names });
  const selected = await core.listNamespacedConfigMap({ namespace, labelSelector: "app=web" });
  report("selected", { names: selected.items.map((each) => each.metadata.name) });
  const one = await core.readNamespacedConfigMap({ name: "one", namespace });
  report("got", { data: one.data });
}

function configMap(name, value) {
  return { metadata: { name }, data: { a: value } };
}

/** Changes an object, and watches it from the version of a list. */
async function watchObjects() {
  const { metadata } = await core.listNamespacedConfigMap({ namespace });
  const created = await core.createNamespacedConfigMap({ namespace, body: configMap("early", "1") });
  created.data.a = "2";
  await core.replaceNamespacedConfigMap({ name: "early", namespace, body: created });
  await core.deleteNamespacedConfigMap({ name: "early", namespace });
  const events = [];
  await new Promise((resolve, reject) => {
    new Watch(config)
      .watch(
        `/api/v1/namespaces/${namespace}/configmaps`,
        { resourceVersion: metadata.resourceVersion },
        (type, object) => {
          events.push(`${type} ${object.metadata.name}`);
          if (type === "DELETED") resolve();
        },
        (error) => reject(error ?? new Error("the watch has ended")),
      )
      .catch(reject);
  });
  report("watched", { events });
}

/** Changes an object that an informer follows. */
async function follow() {
  const informer = makeInformer(config, `/api/v1/namespaces/${namespace}/configmaps`, () =>
    core.listNamespacedConfigMap({ namespace }),
  );
  const calls = [];
  let noted = () => {};
  for (const verb of ["add", "update", "delete"]) {
    informer.on(verb, (object) => {
      calls.push(`${verb} ${object.metadata.name}`);
      noted();
    });
  }
  const until = (count) =>
    new Promise((resolve) => {
      noted = () => calls.length >= count && resolve();
      noted();
    });
  let isStopped = false;
  informer.on("error", (error) => {
    if (!isStopped) throw error; // the informer reports its own end too
  });
  await informer.start();
  await until(4);
  await core.createNamespacedConfigMap({ namespace, body: configMap("watched", "1") });
  await until(5);
  const followed = informer.get("watched", namespace);
  followed.data.a = "2";
  const updated = await core.replaceNamespacedConfigMap({
    name: "watched",
    namespace,
    body: followed,
  });
  await until(6);
  await core.deleteNamespacedConfigMap({ name: "watched", namespace });
  await until(7);
  const names = informer.list(namespace).map((each) => each.metadata.name);
  report("followed", { calls, data: updated.data, names: names.sort() });
  isStopped = true;
  await informer.stop();
}

/** Makes calls that fail. */
async function fail() {
  const outdated = { metadata: { name: "one", resourceVersion: "1" }, data: { a: "9" } };
  const calls = {
    missing: () => core.readNamespacedConfigMap({ name: "nobody", namespace }),
    forbidden: () => core.listNamespacedSecret({ namespace }),
    conflict: () => core.replaceNamespacedConfigMap({ name: "one", namespace, body: outdated }),
    exists: () => core.createNamespacedConfigMap({ namespace, body: configMap("one", "1") }),
    expired: () => core.listNamespacedConfigMap({ namespace, limit: 1, _continue: "no" }),
  };
  for (const [name, call] of Object.entries(calls)) {
    try {
      await call();
    } catch (error) {
      report(name, { code: error.code, reason: JSON.parse(error.body).reason });
    }
  }
}

/** Creates a custom object, applies a change to it by discovery, and deletes it. */
async function useCustomObjects() {
  const custom = config.makeApiClient(CustomObjectsApi);
  const where = { group, version: "v1", namespace, plural: "gadgets" };
  const mine = { apiVersion: `${group}/v1`, kind: "Gadget", metadata: { name: "mine", namespace } };
  await custom.createNamespacedCustomObject({ ...where, body: { ...mine, spec: { color: "red" } } });
  const objects = KubernetesObjectApi.makeApiClient(config);
  const changed = await objects.patch(
    { ...mine, spec: { color: "blue" } },
    undefined,
    undefined,
    "program",
    true,
    "application/apply-patch+yaml",
  );
  const listed = await custom.listNamespacedCustomObject(where);
  report("custom", {
    spec: changed.spec,
    names: listed.items.map((each) => each.metadata.name),
  });
  await objects.delete(mine);
}

/** Runs a command in a container, reads its log, and connects to a port. */
async function useContainers() {
  const stdout = new PassThrough();
  const stdin = new PassThrough();
  const status = await new Promise((resolve, reject) => {
    new Exec(config)
      .exec(namespace, "one", "main", ["sh", "-c", "head -n 1; exit 3"], stdout, null, stdin, false, resolve)
      .catch(reject);
    stdin.write("typed\n");
  });
  stdout.end();
  report("executed", {
    text: await text(stdout),
    code: Number(status.details.causes.find((each) => each.reason === "ExitCode").message),
  });
  report("log", { text: await core.readNamespacedPodLog({ name: "one", namespace }) });
  const log = new PassThrough();
  await new Log(config).log(namespace, "one", "main", log, { follow: true });
  const [line] = await once(log, "data");
  report("followed log", { text: String(line) });
  const forward = new PortForward(config);
  const server = createServer((socket) => forward.portForward(namespace, "one", [8080], socket, null, socket));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const response = await fetch(`http://127.0.0.1:${server.address().port}/`);
  report("forwarded", { text: await response.text() });
  server.close();
}
