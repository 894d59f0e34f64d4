import assert from "node:assert/strict";
import { suite, test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

/**
 * The bounds of the gzipped bytes of each entry with its dependencies, slightly above the present
 * sizes. About half of the code of ./web and ./node, and most of ./helpers and ./react, is
 * @bufbuild/protobuf, which encodes and decodes by reflection: a bundler cannot remove the parts of
 * it that the messages of kubeconnect do not use. The generated descriptors of all messages are a
 * tenth. The aim for ./web is 40 KB: lower a bound when its entry becomes smaller.
 */
const bounds = new Map([
  [".", 52_500],
  ["./web", 60_500],
  ["./node", 68_500],
  ["./react", 23_500],
  ["./helpers", 21_000],
]);

suite("the gzipped size of the entry", () => {
  for (const [entry, bound] of bounds) {
    test(entry, async (t) => {
      const size = gzipSync(await bundle(entry), { level: 9 }).length;
      report(t, [entry, size, bound]);
      assert.ok(size <= bound, `${entry} has ${size} bytes gzipped, more than ${bound}`);
      assert.ok(size > bound / 2, `${entry} has only ${size} bytes gzipped: lower the bound`);
    });
  }
});

/** Returns the minified code of an entry with its dependencies, but without React. */
async function bundle(entry: string): Promise<Uint8Array> {
  const name = entry === "." ? "index" : entry.slice("./".length);
  const { outputFiles } = await build({
    absWorkingDir: fileURLToPath(new URL("..", import.meta.url)),
    entryPoints: [`src/${name}.ts`],
    external: ["react", "react/jsx-runtime"],
    platform: name === "node" ? "node" : "browser",
    bundle: true,
    minify: true,
    format: "esm",
    target: "es2022",
    legalComments: "none",
    write: false,
  });
  const [file] = outputFiles;
  assert.ok(file);
  return file.contents;
}

/** Prints a row of the table of sizes. */
function report(t: TestContext, [entry, size, bound]: [string, number, number]): void {
  const columns = [size, bound].map((bytes) => bytes.toLocaleString("en").padStart(7));
  t.diagnostic(`${entry.padEnd(10)} ${columns[0]} bytes gzipped of at most ${columns[1]}`);
}
