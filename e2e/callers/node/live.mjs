// A Node.js program that follows a page of ConfigMaps, their counts, or both and stores.
//
// node live.mjs page|counts|stores grpc|connect|web ADDRESS NAMESPACE
//
// "web" is the client for browsers. The program prints each state as a line of JSON.

import { connect } from "@kubeconnect/client/node";
import { connect as connectWeb } from "@kubeconnect/client/web";
import { followCounts } from "../livecounts.mjs";
import { followPage } from "../livepage.mjs";
import { report } from "../report.mjs";
import { resetsOf } from "../resets.mjs";
import { followStores } from "../store.mjs";
import { streamsOf } from "../streams.mjs";

const [subject, protocol, address, namespace] = process.argv.slice(2);
const resets = resetsOf();
const streams = streamsOf();
const interceptors = [resets.interceptor, streams.interceptor];
const client =
  protocol === "web"
    ? connectWeb(address, { interceptors })
    : connect(address, { protocol, interceptors });
try {
  if (subject === "page") await followPage(client, namespace, resets, report);
  else if (subject === "counts") await followCounts(client, namespace, report);
  else await followStores(client, namespace, streams, report);
} finally {
  client.close?.();
}
