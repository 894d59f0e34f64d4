// The part of live.mjs that runs in the browser.

import { connect } from "@kubeconnect/client/web";
import { followCounts } from "../livecounts.mjs";
import { followPage } from "../livepage.mjs";
import { resetsOf } from "../resets.mjs";

/** Follows a page of ConfigMaps, or their counts, with the client in the browser. */
globalThis.follow = async (subject, namespace) => {
  const resets = resetsOf();
  const client = connect(location.origin, { interceptors: [resets.interceptor] });
  if (subject === "page") await followPage(client, namespace, resets, globalThis.report);
  else await followCounts(client, namespace, globalThis.report);
};
