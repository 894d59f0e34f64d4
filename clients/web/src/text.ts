import { Code, KubeconnectError, type StatusCause } from "@kubeconnect/client";
import type { Connection } from "./connection.js";

/** Returns the human-readable reason for the loss of a stream. */
export function reasonFor(error: KubeconnectError): string {
  if (error.message.startsWith("no message received for")) return "the service does not respond";
  // The messages of browsers differ: "Failed to fetch", "Load failed".
  const unreachable =
    error.reason === "" &&
    (error.code === Code.Unknown || /fetch|network|load failed/i.test(error.message));
  return unreachable ? "the service cannot be reached" : error.message;
}

/** Returns why a token was rejected, by the service or before it was sent. */
export function refusalOf(error: unknown): string {
  return error instanceof Error && !(error instanceof KubeconnectError)
    ? error.message
    : reasonFor(KubeconnectError.from(error));
}

/**
 * Returns the causes to list in addition to the message: each cause once, because API servers
 * repeat them, and a single cause only if the message does not contain it.
 */
export function additionalCauses({ message, causes }: KubeconnectError): StatusCause[] {
  const distinct = new Map(causes.map((cause) => [`${cause.field} ${cause.message}`, cause]));
  const listed = [...distinct.values()];
  return listed.length === 1 ? listed.filter((cause) => !message.includes(cause.message)) : listed;
}

/** Returns the title of a connection state. */
export function titleOf(connection: Connection): string {
  switch (connection.state) {
    case "connecting":
      return "Connecting";
    case "live":
      return "Live";
    case "reconnecting":
      return connection.lastMessage
        ? `Reconnecting: ${connection.reason} (last message at ${time.format(connection.lastMessage)})`
        : `Reconnecting: ${connection.reason}`;
    case "unauthenticated":
      return "Sign-in required";
    case "forbidden":
      return "Permission denied";
    case "stale":
      return connection.lastContactTime
        ? `No contact with the cluster since ${time.format(connection.lastContactTime)}`
        : "The cluster cannot be reached";
  }
}

/** Returns the notice of an empty table. */
export function noticeOf(
  { state }: Connection,
  pods: { synced: boolean; arriving: number; all: number },
): string {
  if (!pods.synced) {
    const { arriving } = pods;
    if (state === "unauthenticated") return "Sign in to see pods.";
    if (state === "forbidden") return "You are not allowed to list pods.";
    return arriving > 0 ? `Loading: ${countOf(arriving, arriving)} so far…` : "Loading pods…";
  }
  return pods.all > 0 ? "No pods match the filter." : "There are no pods.";
}

/** Returns the text of a count: "1,234 pods", "12 of 1,234 pods". */
export function countOf(shown: number, all: number): string {
  const noun = all === 1 ? "pod" : "pods";
  return shown === all
    ? `${number.format(all)} ${noun}`
    : `${number.format(shown)} of ${number.format(all)} ${noun}`;
}

/** Returns the text about the namespaces of the table; empty if these are all. */
export function coverageOf(namespaces: readonly string[]): string {
  switch (namespaces.length) {
    case 0:
      return "";
    case 1:
      return `in ${namespaces.join()}, the only namespace that you are allowed to list`;
    default:
      return `in the ${number.format(namespaces.length)} namespaces that you are allowed to list`;
  }
}

const number = new Intl.NumberFormat("en");
const time = new Intl.DateTimeFormat("en-GB", { timeStyle: "medium" });
