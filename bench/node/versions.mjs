/** Prints the versions of Node.js and of the packages that are compared. */
import { readFileSync } from "node:fs";

const packages = ["../../clients/ts", "../../clients/node_modules/@kubernetes/client-node"];
const versions = packages.map((path) => {
  const { name, version } = JSON.parse(
    readFileSync(new URL(`${path}/package.json`, import.meta.url)),
  );
  return `${name} ${version}`;
});
console.log([`Node.js ${process.versions.node}`, ...versions].join(", "));
