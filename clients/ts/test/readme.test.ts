import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { suite, test } from "node:test";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const folder = fileURLToPath(new URL("..", import.meta.url));

/** The programs of the README, by section: what stands in one belongs together. */
const programs = new Map(
  readFileSync(`${folder}README.md`, "utf8")
    .split(/^## /m)
    .map((section): [string, string] => {
      const blocks = section.matchAll(/^```ts\n(.*?)^```/gms);
      return [
        section.slice(0, section.indexOf("\n")),
        [...blocks].map(([, code]) => code).join(""),
      ];
    })
    .filter(([, code]) => code !== ""),
);

const preamble = `import type { Client } from "@kubeconnect/client";\ndeclare const client: Client;\n`;

suite("the README's program for", () => {
  const faults = check(programs);
  for (const section of programs.keys()) {
    test(section, () => {
      assert.deepEqual(faults.get(section), undefined);
    });
  }
  test("all of them, and nothing beside them", () => {
    assert.ok(programs.size > 0);
    assert.equal(faults.get(""), undefined);
  });
});

/** What the compiler finds wrong with programs that lie beside the code, by their names. */
function check(programs: ReadonlyMap<string, string>): Map<string, string[]> {
  const files = new Map<string, string>();
  for (const [section, code] of programs) {
    const whole = code.includes("const client =") ? code : preamble + code;
    files.set(`${folder}${section}.ts`, whole);
  }
  const system: ts.System = {
    ...ts.sys,
    fileExists: (name) => files.has(name) || ts.sys.fileExists(name),
    readFile: (name) => files.get(name) ?? ts.sys.readFile(name),
  };
  const config: unknown = ts.readConfigFile(`${folder}tsconfig.json`, (name) =>
    system.readFile(name),
  ).config;
  const { options } = ts.parseJsonConfigFileContent(config, system, folder);
  const host = ts.createIncrementalCompilerHost(options, system);
  const program = ts.createProgram([...files.keys()], options, host);
  const faults = new Map<string, string[]>();
  for (const { file, messageText } of ts.getPreEmitDiagnostics(program)) {
    const section = file?.fileName.slice(folder.length, -".ts".length) ?? "";
    const fault = ts.flattenDiagnosticMessageText(messageText, "\n");
    faults.set(section, [...(faults.get(section) ?? []), fault]);
  }
  return faults;
}
