import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { suite, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { JsonObject } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { KubeconnectError, type ResourceType, type SchemaResult } from "@kubeconnect/client";
import { check } from "prettier";
import ts from "typescript";
import { clusterTypes } from "../src/types/clustertypes.js";
import { customTypesText, type CustomResource } from "../src/types/customtypes.js";
import { compile } from "./compile.js";
import { randomNumbers, randomSchema } from "./randomschema.js";

const folder = fileURLToPath(new URL("..", import.meta.url));

suite("types of custom resources", () => {
  const schema = JSON.parse(readFileSync(`${folder}test/golden/widget.json`, "utf8")) as JsonObject;
  const widgets = custom("Widget", schema, ["widgets", "wd", "widgets.example.com"]);

  test("are those of the golden file", () => {
    const golden = readFileSync(`${folder}test/golden/widget.d.ts`, "utf8");
    assert.equal(customTypesText([widgets]), golden);
  });

  test("are inferred from the names of the resources", () => {
    const program = `
      import type { Client } from "@kubeconnect/client";
      import type { Widget, WidgetSpecPort } from "./types.js";
      export async function main(client: Client) {
        const { value } = await client.get("wd", { namespace: "default", name: "a" });
        const widget: Widget = value;
        const ports: WidgetSpecPort[] | undefined = value.spec.ports;
        const mode: "fast" | "slow" | undefined = value.spec.mode;
        // @ts-expect-error: one of the values of the enum
        value.spec.mode = "other";
        await client.create("widgets.example.com", { spec: { size: "10%", "kebab-case": true } });
        // @ts-expect-error: the size is required
        await client.create("widgets.example.com", { spec: {} });
        return [widget, ports, mode];
      }`;
    const files = { "types.d.ts": customTypesText([widgets]), "program.ts": program };
    assert.deepEqual(compile(files, { skipLibCheck: false, types: ["node"] }), []);
  });

  test("have different names if the kinds have the same", () => {
    const same = { type: "object", properties: { spec: spec({ a: {} }) } };
    const text = customTypesText([
      custom("Widget", same, ["widgets.a.io"], "a.io"),
      custom("Widget", same, ["widgets.b.io"], "b.io"),
      custom("Record", same, ["records.c.io"], "c.io"),
      custom("WidgetSpec", same, ["widgetspecs.c.io"], "c.io"),
    ]);
    const types = [...text.matchAll(/^export \w+ (\w+)/gm)].map(([, name]) => name);
    assert.deepEqual(types, [
      ...["Widget", "WidgetBIo", "RecordCIo", "WidgetSpec"],
      ...["WidgetSpec2", "WidgetBIoSpec", "RecordCIoSpec", "WidgetSpecSpec"],
    ]);
  });

  test("compile for any schema, are declarations only, and are formatted", async () => {
    const files: Record<string, string> = {};
    for (let seed = 0; seed < 150; seed++) {
      const text = customTypesText(randomResources(seed));
      assert.ok(await check(text, { parser: "typescript" }), `seed ${String(seed)}:\n${text}`);
      assertDeclarations(text);
      files[`types${String(seed)}.d.ts`] = text;
    }
    assert.deepEqual(compile(files, { skipLibCheck: false, types: [] }), []);
  });

  test("of a schema that is too deep are unknown", () => {
    let deep: JsonObject = { type: "string" };
    for (let depth = 0; depth < 500; depth++) deep = spec({ a: deep });
    assert.match(customTypesText([custom("Deep", deep, ["deeps"])]), /a\?: unknown;/);
  });
});

suite("types of a cluster", () => {
  const pods = resourceType("", "pods", ["po"]);
  const services = resourceType("", "services", ["svc"]);
  const widgets = resourceType("example.com", "widgets", ["wd"]);
  const custom = resourceType("example.com", "services", ["wd", "cs"]);

  test("are those of all custom resources, in order", async () => {
    const text = await clusterTypes(cluster([widgets, pods, services, custom]), [], failed);
    const names = [...text.matchAll(/^ {4}(.*): \w+;/gm)].map(([, name]) => name);
    assert.deepEqual(names, [
      ...["cservices", "cs", '"services.example.com"', '"services.v1.example.com"'],
      ...["widgets", "cwidgets", '"widgets.example.com"', '"widgets.v1.example.com"'],
    ]);
  });

  test("are those of the resources that are asked for", async () => {
    const text = await clusterTypes(cluster([pods, widgets, custom]), ["widgets"], failed);
    assert.match(text, /export type Widgets = /);
    assert.doesNotMatch(text, /Services/);
  });

  test("are empty without custom resources", async () => {
    assert.match(await clusterTypes(cluster([pods]), [], failed), /^export \{\};$/m);
  });

  test("are missing with a warning for a resource without a schema", async () => {
    const warnings: string[] = [];
    const missing = resourceType("metrics.example.com", "missing", []);
    const text = await clusterTypes(cluster([missing, widgets]), [], (each) => warnings.push(each));
    assert.match(text, /export type Widgets = /);
    assert.deepEqual(warnings, [
      "the type of missing.metrics.example.com is missing: missing.metrics.example.com has no schema",
    ]);
    await assert.rejects(
      clusterTypes(cluster([missing]), ["missing"], failed),
      /the type of missing is missing: missing has no schema/,
    );
  });
});

suite("the command line", () => {
  for (const [about, args, code, message] of [
    ["help", ["--help"], 0, /Usage: npx @kubeconnect\/client types/],
    ["no command", [], 2, /error: no command\nTry: /],
    ["another command", ["kinds"], 2, /error: unknown command: kinds/],
    [
      "text that controls a terminal",
      ["a\u001b[31m\u009b\u202e"],
      2,
      /a\\u001b\[31m\\u009b\\u202e/,
    ],
    ["no address", ["types"], 2, /error: --address is required/],
    ["an invalid address", ["types", "--address", "ftp://host"], 2, /error: invalid address/],
    ["an unknown option", ["types", "--adress", "x"], 2, /error: Unknown option '--adress'/],
    [
      "an unreachable service",
      ["types", "--address", "http://127.0.0.1:1"],
      1,
      /error: http:\/\/127\.0\.0\.1:1: .*ECONNREFUSED/,
    ],
  ] as const) {
    test(`reports ${about}`, () => {
      const options = ["--conditions=@kubeconnect/source", "--import=tsx", "src/cli.ts"];
      const result = spawnSync(process.execPath, [...options, ...args], {
        cwd: folder,
        encoding: "utf8",
      });
      assert.equal(result.status, code, result.stderr);
      assert.match(code === 0 ? result.stdout : result.stderr, message);
    });
  }
});

function custom(
  kind: string,
  schema: JsonObject,
  names: readonly string[],
  group = "example.com",
): CustomResource {
  const resource = { group, version: "v1", kind, plural: `${kind.toLowerCase()}s` };
  return { resource: { ...resource, namespaced: true }, schema, names };
}

/** Fails a test that expects no warning. */
function failed(warning: string): void {
  assert.fail(warning);
}

/** Fails if a file has anything but types. */
function assertDeclarations(text: string): void {
  const { statements } = ts.createSourceFile("types.d.ts", text, ts.ScriptTarget.ES2022);
  const [imports, registry, ...types] = statements;
  assert.ok(imports !== undefined && ts.isImportDeclaration(imports));
  assert.ok(registry !== undefined && ts.isModuleDeclaration(registry));
  for (const type of types) {
    assert.ok(ts.isTypeAliasDeclaration(type) || ts.isInterfaceDeclaration(type));
  }
}

function spec(properties: JsonObject): JsonObject {
  return { type: "object", properties };
}

function randomResources(seed: number): CustomResource[] {
  const next = randomNumbers(seed);
  const schemas = { node: randomSchema(next), name: randomSchema(next) };
  return ["Widget", "T", "Map"].map((kind) => {
    const schema = randomSchema(next) as JsonObject | null;
    const whole = { ...schema, components: { schemas } } as JsonObject;
    return custom(kind, whole, [`${kind.toLowerCase()}${String(seed)}.example.com`]);
  });
}

function resourceType(group: string, plural: string, shortNames: string[]): ResourceType {
  const kind = plural.charAt(0).toUpperCase() + plural.slice(1);
  return {
    resource: { group, version: "v1", kind, plural, namespaced: true },
    versions: ["v1"],
    singular: group === "" ? plural.slice(0, -1) : `c${plural}`,
    shortNames,
    categories: [],
    verbs: ["get"],
    subresources: [],
    cache: undefined,
  };
}

/** Returns a client of a cluster in which all resources have a schema but "missing". */
function cluster(types: readonly ResourceType[]) {
  return {
    resourceTypes: () => Promise.resolve({ types, failedGroupVersions: [] }),
    schema: (name: string): Promise<SchemaResult> => {
      const type = types.find(({ resource: { plural, group } }) =>
        [plural, `${plural}.${group}`].includes(name),
      );
      if (type === undefined || name.startsWith("missing")) {
        return Promise.reject(notFound(`${name} has no schema`));
      }
      return Promise.resolve({ resource: type.resource, schema: spec({ spec: {} }) });
    },
  };
}

function notFound(message: string): KubeconnectError {
  return KubeconnectError.from(new ConnectError(message, Code.NotFound));
}
