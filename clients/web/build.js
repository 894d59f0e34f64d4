// Bundles the page into dist, which embed.go embeds into the service's binary.
import { rm, readdir, copyFile } from "node:fs/promises";
import { build } from "esbuild";

process.chdir(import.meta.dirname);

for (const file of await readdir("dist")) {
  if (file !== ".gitkeep") await rm(`dist/${file}`, { recursive: true });
}
await build({
  entryPoints: ["src/app.ts", "src/style.css"],
  outdir: "dist",
  bundle: true,
  minify: true,
  format: "esm",
  target: ["es2022", "chrome116", "firefox121", "safari17.4"],
  conditions: ["@kubeconnect/source"],
  logLevel: "warning",
});
for (const file of ["index.html", "favicon.svg"]) {
  await copyFile(`src/${file}`, `dist/${file}`);
}
