// Creates the files that `npm pack` and `npm publish` add to the sources: dist, built from these
// sources only, and the license. Installs the build tools if they are missing.

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
