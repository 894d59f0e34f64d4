import assert from "node:assert/strict";
import { suite, test, type TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";

/**
 * The bounds of the gzipped bytes of entries that are loaded together, with their dependencies, slightly
 * above the present sizes. The aim for ./web is 40 KB: lower a bound when its entries become smaller.
 *
 * Of the 50 KB of ./web, about 13 are the generated descriptors of all messages with what reads them,
 * 13 the rest of @bufbuild/protobuf, which encodes and decodes by reflection, and 4 the Connect
 * protocol. A bundler cannot remove the parts that a page does not call. Only another generator of code
 * for messages would reach the aim.
 */
const bounds = new Map([
  [".", 48_000],
  ["./web", 52_000],
  ["./node", 70_500],
  ["./web ./react", 55_000],
  ["./helpers", 3_000],
  ["./web ./containers/web", 56_000],
  ["./node ./containers/node", 82_000],
]);

suite("the gzipped size of", () => {
  for (const [entries, bound] of bounds) {
    test(entries, async (t) => {
      const size = gzipSync(await bundle(entries.split(" ")), { level: 9 }).length;
      report(t, [entries, size, bound]);
      assert.ok(size <= bound, `${entries}: ${size} bytes gzipped, more than ${bound}`);
      assert.ok(size > bound * 0.9, `${entries}: only ${size} bytes gzipped: lower the bound`);
    });
  }
});

/** Returns the minified code of entries with their dependencies, but without React. */
async function bundle(entries: readonly string[]): Promise<Uint8Array> {
  const names = entries.map((entry) => (entry === "." ? "index" : entry.slice("./".length)));
  const { outputFiles } = await build({
    stdin: {
      contents: names.map((name) => `export * from "./src/${name}.ts";`).join("\n"),
      resolveDir: fileURLToPath(new URL("..", import.meta.url)),
    },
    external: ["react", "react/jsx-runtime", "ws"],
    platform: names.includes("node") ? "node" : "browser",
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
function report(t: TestContext, [entries, size, bound]: [string, number, number]): void {
  const columns = [size, bound].map((bytes) => bytes.toLocaleString("en").padStart(7));
  t.diagnostic(`${entries.padEnd(13)} ${columns[0]} bytes gzipped of at most ${columns[1]}`);
}
