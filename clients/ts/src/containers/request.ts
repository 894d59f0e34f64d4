import type { ObjectName } from "../object.js";

/** A request whose response is a WebSocket. */
export interface StreamRequest {
  /** The path and the query, below the address of the service. */
  readonly path: string;
  readonly protocol: string;
  readonly stdin: boolean;
  readonly tty: boolean;
}

/** The streams of a command. */
export interface Streams {
  readonly container?: string | undefined;
  readonly stdin: boolean;
  readonly tty: boolean;
}

/** The protocol of commands and of attached clients: the first one in which stdin can be closed. */
const streamProtocol = "v5.channel.k8s.io";

/** The protocol of one connection to a port. */
const portProtocol = "v4.channel.k8s.io";

/** Returns the request that runs a command. Throws a TypeError if it is none. */
export function execRequest(
  pod: ObjectName,
  command: readonly string[],
  streams: Streams,
): StreamRequest {
  if (!Array.isArray(command) || !command.every((each) => typeof each === "string")) {
    throw new TypeError('command must be an array of strings, such as ["sh", "-c", "ls | wc -l"]');
  }
  if (command.length === 0) throw new TypeError("command must not be empty");
  const more = command.map((each): Parameter => ["command", each]);
  return streamRequest("exec", pod, more, streams);
}

/** Returns the request that attaches to the main process of a container. */
export function attachRequest(pod: ObjectName, streams: Streams): StreamRequest {
  return streamRequest("attach", pod, [], streams);
}

/** Returns the request for one connection to a port. Throws a TypeError if it is none. */
export function portRequest(pod: ObjectName, port: number): StreamRequest {
  if (!Number.isInteger(port) || port < 1 || port > 65535) {
    throw new TypeError(`port must be an integer between 1 and 65535, not ${port}`);
  }
  const path = pathOf("portforward", pod, [["ports", String(port)]]);
  return { path, protocol: portProtocol, stdin: false, tty: false };
}

type Parameter = [name: string, value: string];

function streamRequest(
  subresource: string,
  pod: ObjectName,
  more: readonly Parameter[],
  { container, stdin, tty }: Streams,
): StreamRequest {
  const query = [...more];
  if (stdin) query.push(["stdin", "true"]);
  query.push(["stdout", "true"]);
  query.push(tty ? ["tty", "true"] : ["stderr", "true"]); // a terminal has one output
  if (container !== undefined) query.push(["container", container]);
  return { path: pathOf(subresource, pod, query), protocol: streamProtocol, stdin, tty };
}

function pathOf(subresource: string, pod: ObjectName, query: Parameter[]): string {
  const { namespace = "", name } = pod;
  const at = `/api/v1/namespaces/${segment("namespace", namespace)}/pods/${segment("name", name)}`;
  return `${at}/${subresource}?${new URLSearchParams(query).toString()}`;
}

/** Returns a name as a part of a path. One that is no name would lead to another resource. */
function segment(field: string, name: string): string {
  if (typeof name !== "string" || ["", ".", ".."].includes(name)) {
    throw new TypeError(`${field} of the pod must be a name, not ${JSON.stringify(name)}`);
  }
  return encodeURIComponent(name);
}
