import { fileURLToPath } from "node:url";
import ts from "typescript";

const folder = fileURLToPath(new URL("..", import.meta.url));

/**
 * Compiles files of the package's folder that exist in memory only, with the options of the package
 * and others, and returns the errors.
 */
export function compile(
  sources: Readonly<Record<string, string>>,
  others: ts.CompilerOptions = {},
): string[] {
  const files = new Map(Object.entries(sources).map(([name, text]) => [`${folder}${name}`, text]));
  const system: ts.System = {
    ...ts.sys,
    fileExists: (name) => files.has(name) || ts.sys.fileExists(name),
    readFile: (name) => files.get(name) ?? ts.sys.readFile(name),
  };
  const config: unknown = ts.readConfigFile(`${folder}tsconfig.json`, (name) =>
    system.readFile(name),
  ).config;
  const { options } = ts.parseJsonConfigFileContent(config, system, folder);
  const all = { ...options, ...others };
  const host = ts.createIncrementalCompilerHost(all, system);
  const program = ts.createProgram([...files.keys()], all, host);
  return ts.getPreEmitDiagnostics(program).map(({ file, start = 0, messageText }) => {
    const line = file === undefined ? "" : file.text.slice(start).split("\n")[0];
    return `${ts.flattenDiagnosticMessageText(messageText, "\n")}: ${line ?? ""}`;
  });
}
