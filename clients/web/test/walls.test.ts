import { readdirSync, readFileSync, statSync } from "node:fs";
import { join, posix } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../src");

/** The folders from the ground up. A folder imports only from the lines below its own. */
const floors = [
  ["model"],
  ["ui"],
  ["session"],
  ["events", "logs", "overview", "relations", "terminal", "yaml"],
  ["actions", "history"],
  ["object", "palette", "table"],
  ["shell"],
];

const files = readdirSync(root, { recursive: true, encoding: "utf8" })
  .filter((path) => statSync(join(root, path)).isFile())
  .map((path) => path.replaceAll("\\", "/"));

/** Returns the files of `src` that a file imports, also those that it loads later. */
function importsOf(file: string): string[] {
  if (!/\.tsx?$/.test(file)) return [];
  const text = readFileSync(join(root, file), "utf8");
  return [...text.matchAll(/(?:from|import|import\()\s*"(\.[^"]+)"/g)].map(([, path = ""]) => {
    const target = posix.join(posix.dirname(file), path);
    const source = [target, target.replace(/\.js$/, ".ts"), target.replace(/\.js$/, ".tsx")];
    const found = source.find((each) => files.includes(each));
    if (!found) throw new Error(`${file} imports ${path}, which is not found`);
    return found;
  });
}

const imports = new Map(files.map((file) => [file, importsOf(file)]));

const folderOf = (file: string): string => file.slice(0, Math.max(0, file.indexOf("/")));

function floorOf(file: string): number {
  return floors.findIndex((floor) => floor.includes(folderOf(file)));
}

test("every folder has its floor", () => {
  const folders = new Set(files.filter((file) => /\.tsx?$/.test(file)).map(folderOf));
  expect([...folders].sort()).toEqual(["", ...floors.flat()].sort());
});

test("no folder imports from its own floor or above", () => {
  const wrong = [...imports].flatMap(([file, targets]) =>
    targets
      .filter((target) => file !== "main.tsx" && folderOf(target) !== folderOf(file))
      .filter((target) => floorOf(target) >= floorOf(file))
      .map((target) => `${file} imports ${target}`),
  );
  expect(wrong).toEqual([]);
});

test("no file imports itself by way of others", () => {
  const finished = new Set<string>();
  const visit = (file: string, way: readonly string[]): string[] => {
    if (way.includes(file)) return [[...way.slice(way.indexOf(file)), file].join(" -> ")];
    if (finished.has(file)) return [];
    const circles = (imports.get(file) ?? []).flatMap((each) => visit(each, [...way, file]));
    finished.add(file);
    return circles;
  };
  expect(files.flatMap((file) => visit(file, []))).toEqual([]);
});
