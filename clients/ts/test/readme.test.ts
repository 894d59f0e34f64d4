import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { suite, test } from "node:test";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const folder = fileURLToPath(new URL("..", import.meta.url));

const documents = ["README.md", "SKILL.md"];

/** The programs that the site of the documentation includes. */
const snippets = ["typescript", "browser"].flatMap(snippetsOf);

/** The programs of the documents, by document and section, and the snippets, by their names. */
const programs = new Map([...documents.flatMap(programsOf), ...snippets]);

const preamble = `import type { Client } from "@kubeconnect/client";\ndeclare const client: Client;\n`;

suite("the program of", () => {
  const errors = check(programs);
  for (const section of programs.keys()) {
    test(section, () => {
      assert.deepEqual(errors.get(section), undefined);
    });
  }
  test("each document, and no errors outside of them", () => {
    for (const document of documents) {
      assert.ok([...programs.keys()].some((section) => section.startsWith(document)));
    }
    assert.ok(snippets.length > 0);
    assert.equal(errors.get(""), undefined);
  });
});

/** Returns the programs of a document: the code blocks of each section are one program. */
function programsOf(document: string): [string, string][] {
  return readFileSync(`${folder}${document}`, "utf8")
    .split(/^## /m)
    .map((section): [string, string] => {
      const blocks = section.matchAll(/^```tsx?\n(.*?)^```/gms);
      const title = section.slice(0, section.indexOf("\n"));
      return [`${document} ${title}`, [...blocks].map(([, code]) => code).join("")];
    })
    .filter(([, code]) => code !== "");
}

function snippetsOf(kind: string): [string, string][] {
  const path = `${folder}../../docs/snippets/${kind}/`;
  return readdirSync(path).map((name) => [`${kind} ${name}`, readFileSync(path + name, "utf8")]);
}

/** Compiles the programs in the package's folder, and returns the errors by section. */
function check(programs: ReadonlyMap<string, string>): Map<string, string[]> {
  const files = new Map<string, string>();
  for (const [section, code] of programs) {
    const whole = code.includes("const client =") ? code : preamble + code;
    files.set(`${folder}${section}.tsx`, whole);
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
  const errors = new Map<string, string[]>();
  for (const { file, messageText } of ts.getPreEmitDiagnostics(program)) {
    const section = file?.fileName.slice(folder.length, -".tsx".length) ?? "";
    const error = ts.flattenDiagnosticMessageText(messageText, "\n");
    errors.set(section, [...(errors.get(section) ?? []), error]);
  }
  return errors;
}
