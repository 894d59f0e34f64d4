// The part of live.mjs that runs in the browser.

import { connect } from "@kubeconnect/client/web";
import { followCounts } from "../livecounts.mjs";
import { followPage } from "../livepage.mjs";
import { resetsOf } from "../resets.mjs";
import { followStores } from "../store.mjs";
import { streamsOf } from "../streams.mjs";

/** Follows a page of ConfigMaps, their counts, or both and stores, with the client in the browser. */
globalThis.follow = async (subject, namespace) => {
  const resets = resetsOf();
  const streams = streamsOf();
  const interceptors = [resets.interceptor, streams.interceptor];
  const client = connect(location.origin, { interceptors });
  if (subject === "page") await followPage(client, namespace, resets, globalThis.report);
  else if (subject === "counts") await followCounts(client, namespace, globalThis.report);
  else await followStores(client, namespace, streams, globalThis.report);
};
