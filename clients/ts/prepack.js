// Makes what `npm pack` and `npm publish` put into the package beside the sources: dist, built
// from these sources alone, and the license. What it is built with is installed if it is missing.

import { execSync } from "node:child_process";
import { copyFileSync, existsSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";

const here = fileURLToPath(new URL(".", import.meta.url));
const run = (command, cwd) =>
  execSync(command, { cwd, stdio: ["ignore", process.stderr, "inherit"] });

if (!existsSync(`${here}../node_modules/typescript`)) {
  run("npm ci --no-audit --no-fund --ignore-scripts", `${here}..`);
}
rmSync(`${here}dist`, { recursive: true, force: true });
run("npm run build", here);
copyFileSync(`${here}../../LICENSE`, `${here}LICENSE`);
