import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { after, before, suite, test } from "node:test";
import { fileURLToPath } from "node:url";

const clients = fileURLToPath(new URL("../..", import.meta.url));
const modules = join(clients, "node_modules");

// The tests need no network: the dependencies of the package are linked from the checkout.
suite("the package of npm pack", () => {
  let temporary: string;
  let fresh: string;

  before(() => {
    temporary = mkdtempSync(join(tmpdir(), "kubeconnect-pack-"));
    fresh = join(temporary, "fresh");
    const archive = pack(cleanCheckout(temporary), temporary);
    install(archive, fresh);
  });

  after(() => {
    rmSync(temporary, { recursive: true, force: true });
  });

  test("exports all of its entries to a program in another folder", () => {
    const program = `
      import { KubeconnectError, LiveCollection, Watch } from "@kubeconnect/client";
      import { connect } from "@kubeconnect/client/node";
      import { connect as connectWeb } from "@kubeconnect/client/web";
      import { ResourceService } from "@kubeconnect/client/proto";
      import { connectContainers } from "@kubeconnect/client/containers/node";
      import { connectContainers as containersOfWeb } from "@kubeconnect/client/containers/web";
      import { useList } from "@kubeconnect/client/react";
      import { parseQuantity } from "@kubeconnect/client/helpers";
      for (const value of [KubeconnectError, LiveCollection, Watch, connect, connectWeb, connectContainers, containersOfWeb, useList, parseQuantity]) console.log(typeof value);
      console.log(ResourceService.typeName);`;
    writeFileSync(join(fresh, "program.mjs"), program);
    const printed = run(process.execPath, ["program.mjs"], fresh).trim().split("\n");
    const functions = Array<string>(9).fill("function");
    assert.deepEqual(printed, [...functions, "kubeconnect.v1.ResourceService"]);
  });

  test("has types", () => {
    const program = `
      import { connect } from "@kubeconnect/client/node";
      import { connect as connectWeb } from "@kubeconnect/client/web";
      import { ResourceService } from "@kubeconnect/client/proto";
      import { connectContainers } from "@kubeconnect/client/containers/node";
      import { connectContainers as containersOfWeb } from "@kubeconnect/client/containers/web";
      import type { Pod } from "@kubeconnect/client/k8s/core/v1";
      const client = connect("http://localhost:8080");
      const pod: Promise<Pod> = client.get("pods", { name: "a" }).then((pod) => pod.value);
      // @ts-expect-error: the name of a pod is not a number
      const wrong: Promise<number> = client.get("pods", { name: "a" }).then((pod) => pod.name);
      void [pod, wrong, connectWeb, connectContainers, containersOfWeb, ResourceService];`;
    compile(fresh, program, ["es2022"]); // a program for Node.js usually has no types of browsers
  });

  test("has stores that can be closed by using, and types that do not need it", () => {
    const program = `
      import { createClient } from "@kubeconnect/client";
      declare const client: ReturnType<typeof createClient>;`;
    compile(fresh, `${program} (await client.store("pods").open()).close();`, ["es2022", "dom"]);
    const using = `
      await using pods = await client.store("pods").open();
      // @ts-expect-error: a client needs no closing
      using wrong = client;
      void [pods, wrong];`;
    compile(fresh, program + using, ["es2022", "dom", "esnext.disposable"]);
  });

  test("has types of the built-in kinds, and no code for them", () => {
    const kinds = join(fresh, "node_modules/@kubeconnect/client/dist/k8s/core/v1");
    assert.match(readFileSync(`${kinds}.d.ts`, "utf8"), /^export type Pod = \{$/m);
    const code = readFileSync(`${kinds}.js`, "utf8").replace(/^\/\/.*\n?/gm, "");
    assert.equal(code.trim(), "export {};");
  });

  test("has a command line", () => {
    const cli = join(fresh, "node_modules/@kubeconnect/client/dist/cli.js");
    assert.match(run(process.execPath, [cli, "--help"], fresh), /^Usage: npx @kubeconnect\/client/);
  });

  test("has SKILL.md and llms.txt, and the files to which they link", () => {
    const installed = join(fresh, "node_modules/@kubeconnect/client");
    assert.match(
      readFileSync(join(installed, "SKILL.md"), "utf8"),
      /^---\nname: \S+\ndescription: /,
    );
    const text = readFileSync(join(installed, "llms.txt"), "utf8");
    const links = [...text.matchAll(/\]\((?!https:)(.*?)\)/g)].map(([, path = ""]) => path);
    assert.ok(links.includes("README.md") && links.includes("SKILL.md"));
    for (const path of links) assert.ok(existsSync(join(installed, path)), path);
  });

  test("has the license, and none of its tests", () => {
    const installed = join(fresh, "node_modules/@kubeconnect/client");
    assert.match(readFileSync(join(installed, "LICENSE"), "utf8"), /Apache License/);
    assert.throws(() => readFileSync(join(installed, "test/pack.test.ts")), /ENOENT/);
  });
});

// compile checks the types of a program, with the library of its target or with others.
function compile(fresh: string, program: string, lib?: readonly string[]): void {
  writeFileSync(join(fresh, "program.mts"), program);
  const options = [
    "--noEmit",
    "--strict",
    "--module",
    "nodenext",
    "--target",
    "es2022",
    "--types",
    "node",
  ];
  const libraries = lib ? ["--lib", lib.join()] : ["--skipLibCheck"];
  const tsc = join(modules, "typescript/bin/tsc");
  run(process.execPath, [tsc, ...options, ...libraries, "program.mts"], fresh);
}

// cleanCheckout copies the checkout without build results, and links its node_modules.
function cleanCheckout(into: string): string {
  const built = new Set(["node_modules", "dist", "python", "web", "LICENSE"]);
  const copy = join(into, "checkout/clients");
  cpSync(clients, copy, {
    recursive: true,
    filter: (path) => path === clients || !built.has(basename(path)),
  });
  symlinkSync(modules, join(copy, "node_modules"));
  cpSync(join(clients, "../LICENSE"), join(into, "checkout/LICENSE"));
  return join(copy, "ts");
}

function pack(checkout: string, into: string): string {
  const printed = run(
    "npm",
    ["pack", "--silent", "--offline", "--pack-destination", into],
    checkout,
  );
  return join(into, printed.trim());
}

// install unpacks a package into node_modules, and links the dependencies of its package.json, its peer
// dependencies, and the types of Node.js.
function install(archive: string, fresh: string): void {
  const target = join(fresh, "node_modules/@kubeconnect/client");
  mkdirSync(target, { recursive: true });
  run("tar", ["-xzf", archive, "--strip-components=1", "-C", target], fresh);
  const manifest = JSON.parse(readFileSync(join(target, "package.json"), "utf8")) as {
    dependencies: Record<string, string>;
    peerDependencies: Record<string, string>;
  };
  const dependencies = Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies });
  for (const name of [...dependencies, "@types/node", "undici-types"]) {
    const link = join(fresh, "node_modules", name);
    mkdirSync(dirname(link), { recursive: true });
    symlinkSync(join(modules, name), link);
  }
}

function run(command: string, args: string[], cwd: string): string {
  return execFileSync(command, args, {
    cwd,
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
}
