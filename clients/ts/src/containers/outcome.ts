import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { KubeconnectError } from "../error.js";
import { StatusSchema } from "../gen/kubeconnect/v1/status_pb.js";

/** An HTTP response in place of a WebSocket. */
export interface Rejection {
  readonly status: number;
  readonly body: string;
  readonly requestId: string;
}

/** Returns the error for an HTTP response of the service at an address. */
export function rejected({ status, body, requestId }: Rejection, address: string): Error {
  const parsed = objectOf(body);
  if (parsed.kind === "Status") return errorOf(parsed, status, requestId);
  const start = body.trim().slice(0, 500);
  const message = `the server at ${address} responds with HTTP status ${status}`;
  const more = start === "" || start.startsWith("<") ? "" : `: ${start}`;
  return errorOf({ message: message + more }, status, requestId);
}

/**
 * Returns the exit code of a command from the Status that ends its connection. Throws the Status if
 * the command did not run.
 */
export function exitCodeOf(status: Uint8Array, requestId: string): number {
  const text = new TextDecoder().decode(status);
  const parsed = objectOf(text);
  if (parsed.status === "Success") return 0;
  if (parsed.reason === "NonZeroExitCode") {
    const cause = causesOf(parsed).find(({ reason }) => reason === "ExitCode");
    if (cause && /^\d+$/.test(cause.message)) return Number(cause.message);
  }
  throw errorOf(Object.keys(parsed).length > 0 ? parsed : { message: text }, 500, requestId);
}

/** Returns the error for a port that the node could not connect to. */
export function portFailed(message: Uint8Array, port: number, requestId: string): Error {
  const text = new TextDecoder().decode(message).trim();
  return failure(Code.Unavailable, `port ${port} of the pod: ${text}`, requestId);
}

/** Returns the error for a connection that has ended too early. */
export function lost(what: string, problem: string, requestId: string): Error {
  const message = `the connection was lost before ${what} ended: ${problem}`;
  return failure(Code.Unavailable, message, requestId);
}

/** Returns the error of a code that this client has found. */
export function failure(code: Code, message: string, requestId = ""): KubeconnectError {
  return withRequestId(KubeconnectError.from(new ConnectError(message, code)), requestId);
}

type Parsed = Readonly<Record<string, unknown>>;

function errorOf(parsed: Parsed, httpStatus: number, requestId: string): KubeconnectError {
  const details = recordOf(parsed.details);
  const { code } = parsed;
  const status = create(StatusSchema, {
    reason: textOf(parsed.reason),
    message: textOf(parsed.message),
    code: isCount(code) && code > 0 && code < 1000 ? code : httpStatus,
    group: textOf(details.group),
    kind: textOf(details.kind),
    name: textOf(details.name),
    uid: textOf(details.uid),
    causes: causesOf(parsed),
    ...(isCount(details.retryAfterSeconds) && { retryAfterSeconds: details.retryAfterSeconds }),
  });
  return withRequestId(KubeconnectError.ofCall(status), requestId);
}

function withRequestId(error: KubeconnectError, requestId: string): KubeconnectError {
  return Object.assign(error, { requestId });
}

function causesOf(parsed: Parsed) {
  const { causes } = recordOf(parsed.details);
  return (Array.isArray(causes) ? causes : []).map(recordOf).map(({ reason, message, field }) => ({
    reason: textOf(reason),
    message: textOf(message),
    field: textOf(field),
  }));
}

function objectOf(text: string): Parsed {
  try {
    return recordOf(JSON.parse(text));
  } catch {
    return {};
  }
}

function recordOf(value: unknown): Parsed {
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? (value as Parsed)
    : {};
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function isCount(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 0 && (value as number) < 2 ** 31;
}
