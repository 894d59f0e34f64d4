// A Node.js program that follows the logs of the pods of an application, and reads some of their
// lines: those with "error".
//
// node loglines.mjs grpc|connect|web ADDRESS NAMESPACE
//
// "web" is the client for browsers. The program prints each line, and each log that is opened, as a
// line of JSON. It ends with a line that contains "end".

import { connect } from "@kubeconnect/client/node";
import { connect as connectWeb } from "@kubeconnect/client/web";
import { report } from "../report.mjs";

const [protocol, address, namespace] = process.argv.slice(2);
const client = protocol === "web" ? connectWeb(address) : connect(address, { protocol });
const lines = client.logLines({
  namespace,
  labelSelector: "app=web",
  lineFilter: { contains: "error" },
  follow: true,
  onEvent: ({ type, pod }) => {
    if (type === "BEGAN") report("began", { pod });
  },
});
const all = [];
try {
  for await (const { pod, text } of lines) {
    all.push(`${pod}: ${text}`);
    report("line", { text: all.at(-1) });
    if (text.includes("end")) break;
  }
  report("ended", { lines: all });
} finally {
  client.close?.();
}
