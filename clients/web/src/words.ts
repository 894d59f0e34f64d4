import { Code, KubeconnectError, type StatusCause } from "@kubeconnect/client";
import type { Connection } from "./feed.js";

/** Why the stream was lost, for people: an unreachable or silent service in plain words. */
export function reasonFor(error: KubeconnectError): string {
  if (error.message.startsWith("nothing has come for")) return "the service does not answer";
  // Browsers have words of their own for it: "Failed to fetch", "Load failed".
  const unreached =
    error.reason === "" &&
    (error.code === Code.Unknown || /fetch|network|load failed/i.test(error.message));
  return unreached ? "the service cannot be reached" : error.message;
}

/** Why a token was refused: by the service, or before it was sent. */
export function refusalOf(error: unknown): string {
  return error instanceof Error && !(error instanceof KubeconnectError)
    ? error.message
    : reasonFor(KubeconnectError.from(error));
}

/**
 * The causes worth listing: each once (API servers repeat them), and a single one
 * only if the message does not say it already.
 */
export function causesBeside({ message, causes }: KubeconnectError): StatusCause[] {
  const distinct = new Map(causes.map((cause) => [`${cause.field} ${cause.message}`, cause]));
  const listed = [...distinct.values()];
  return listed.length === 1 ? listed.filter((cause) => !message.includes(cause.message)) : listed;
}

/** How things stand with the service. */
export function titleOf(connection: Connection): string {
  switch (connection.state) {
    case "connecting":
      return "Connecting";
    case "live":
      return "Live";
    case "reconnecting":
      return connection.lastHeard
        ? `Reconnecting: ${connection.reason} (last message at ${time.format(connection.lastHeard)})`
        : `Reconnecting: ${connection.reason}`;
    case "unauthenticated":
      return "Sign-in needed";
    case "forbidden":
      return "Not permitted";
    case "stale":
      return connection.lastContact
        ? `The cluster has not been heard of since ${time.format(connection.lastContact)}`
        : "The cluster cannot be reached";
  }
}

/** What stands in the table where no pod does. */
export function noticeOf(
  { state }: Connection,
  pods: { synced: boolean; arriving: number; all: number },
): string {
  if (!pods.synced) {
    const { arriving } = pods;
    if (state === "unauthenticated") return "Sign in to see pods.";
    if (state === "forbidden") return "There is nothing here that you may see.";
    return arriving > 0 ? `${countOf(arriving, arriving)} so far…` : "Waiting for the first pods…";
  }
  return pods.all > 0 ? "No pod matches the filter." : "There are no pods here.";
}

/** "1,234 pods", "12 of 1,234 pods". */
export function countOf(shown: number, all: number): string {
  const noun = all === 1 ? "pod" : "pods";
  return shown === all
    ? `${number.format(all)} ${noun}`
    : `${number.format(shown)} of ${number.format(all)} ${noun}`;
}

/** Which namespaces the table is of, where these are not all; empty where they are. */
export function coverageOf(namespaces: readonly string[]): string {
  switch (namespaces.length) {
    case 0:
      return "";
    case 1:
      return `in ${namespaces.join()}, the only namespace that you may list`;
    default:
      return `in the ${number.format(namespaces.length)} namespaces that you may list`;
  }
}

const number = new Intl.NumberFormat("en");
const time = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });
