// What a program in Node.js does with a log: it follows it, then asks for one that is not
// there.
//
// node logs.mjs PROTOCOL ADDRESS NAMESPACE POD
//
// Each line, and the log's end, is told as a line of JSON.

import { KubeconnectError, connect } from "@kubeconnect/client/node";
import { tell } from "../tell.mjs";

const [protocol, address, namespace, name] = process.argv.slice(2);
const client = connect(address, { protocol });
try {
  for await (const text of client.logs({ namespace, name }, { follow: true })) {
    tell("line", { text });
  }
  tell("ended", { size: (await client.logs({ namespace, name }).bytes()).length });
  await client.logs({ namespace, name: "nobody" }).bytes();
} catch (error) {
  if (!(error instanceof KubeconnectError)) throw error;
  tell("missing", { reason: error.reason, message: error.message });
} finally {
  client.close();
}
