// A Node.js program that follows a log, and then requests a log that does not exist.
//
// node logs.mjs PROTOCOL ADDRESS NAMESPACE POD
//
// It prints each line, and the end of the log, as a line of JSON.

import { KubeconnectError, connect } from "@kubeconnect/client/node";
import { report } from "../report.mjs";

const [protocol, address, namespace, name] = process.argv.slice(2);
const client = connect(address, { protocol });
try {
  for await (const text of client.logs({ namespace, name }, { follow: true })) {
    report("line", { text });
  }
  report("ended", { size: (await client.logs({ namespace, name }).bytes()).length });
  await client.logs({ namespace, name: "nobody" }).bytes();
} catch (error) {
  if (!(error instanceof KubeconnectError)) throw error;
  report("missing", { reason: error.reason, message: error.message });
} finally {
  client.close();
}
