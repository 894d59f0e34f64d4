// What people write first with the package, in TypeScript, for any runtime: Node.js, Deno, Bun.
//
// program.ts node|web ADDRESS NAMESPACE
//
// The first argument is the entry of the package. The program prints each step as a line of JSON,
// and ends when there is a ConfigMap named "end".

import process from "node:process";
import {
  InvalidArgumentError,
  KubeconnectError,
  type Client,
  type Store,
} from "@kubeconnect/client";
import type { ConfigMap } from "@kubeconnect/client/k8s/core/v1";
import { connect as connectNode } from "@kubeconnect/client/node";
import { connect as connectWeb } from "@kubeconnect/client/web";

const [entry, address = "", namespace = ""] = process.argv.slice(2);
const selection = { namespace, labelSelector: "tier" };

if (entry === "web") {
  await run(connectWeb(address));
} else {
  const client = connectNode(address);
  await run(client);
  client.close();
}

async function run(client: Client): Promise<void> {
  report("listed", await listed(client));
  report("rejected", [await rejected(client)]);
  report("watched", await watched(client));
  report("closed", [(await followed(client)).connection.state]);
}

async function listed(client: Client): Promise<string[]> {
  const { objects } = await client.list("configmaps", selection).all();
  return objects.map(lineOf);
}

/** Sends a request that the service rejects, and returns the name of the error's class. */
async function rejected(client: Client): Promise<string> {
  try {
    await client.list("configmaps", { ...selection, filter: "object.(" }).all();
  } catch (error) {
    if (!(error instanceof KubeconnectError)) throw error;
    return error instanceof InvalidArgumentError ? error.name : `not ${error.name}`;
  }
  return "nothing";
}

/** Watches until the signal is aborted, and returns the events and the reason. */
async function watched(client: Client): Promise<string[]> {
  const controller = new AbortController();
  const { signal } = controller;
  const types: string[] = [];
  try {
    for await (const { type } of client.watch("configmaps", { ...selection, signal })) {
      types.push(type);
      if (type === "SYNCED") controller.abort(new Error("seen enough"));
    }
  } catch (error) {
    types.push(error instanceof Error ? error.message : String(error));
  }
  return types;
}

/** Reports the objects of a store whenever they change, and returns the closed store. */
async function followed(client: Client): Promise<Store<ConfigMap>> {
  await using settings = await client.store("configmaps", selection).open();
  let unsubscribe = () => {};
  await new Promise<void>((resolve) => {
    unsubscribe = settings.subscribe(() => {
      report("store", settings.list().map(lineOf));
      if (settings.get({ namespace, name: "end" })) resolve();
    });
  });
  unsubscribe();
  return settings;
}

function lineOf({ name, value }: { name: string; value: ConfigMap }): string {
  return `${name}=${value.metadata.labels?.tier ?? ""}`;
}

function report(step: string, values: string[]): void {
  console.log(JSON.stringify({ step, values }));
}
