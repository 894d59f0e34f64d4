import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";

/**
 * Returns the message of an error that the service has not sent, with what to do about it. Its cause is
 * the error of the runtime.
 */
export function withAdvice({ rawMessage: message, cause, metadata }: ConnectError): string {
  if (metadata.has("Audit-Id")) return `${message}: ${apiServer}`;
  if (/^(HTTP \d+$|unsupported content type)/.test(message)) return `${message}: ${notOurs}`;
  if (isConnectionClosed(message)) return "the connection was closed before the response ended";
  return advice.get(systemCode(cause)) ?? message;
}

/** Returns whether the message is that of Node.js for a stream whose connection was closed. */
export function isConnectionClosed(message: string): boolean {
  return message.startsWith("http/2 stream closed with error code CANCEL");
}

/**
 * Returns whether the error is that of Node.js for a call whose connection was closed or reset. Connect
 * reports a reset as Aborted, which is the code of conflicts.
 */
export function isConnectionLost({ rawMessage, cause }: ConnectError): boolean {
  return isConnectionClosed(rawMessage) || resets.has(systemCode(cause));
}

const resets: ReadonlySet<unknown> = new Set([
  "ECONNRESET",
  "ERR_HTTP2_INVALID_STREAM",
  "ERR_STREAM_DESTROYED",
]);

/** Advises to use TLS if a connection without TLS is closed, or fails, before there is a response. */
export const adviseTls: Interceptor = (next) => async (request) => {
  try {
    return await next(request);
  } catch (error) {
    if (request.signal.aborted || !(error instanceof ConnectError)) throw error;
    const isClosed = isConnectionClosed(error.rawMessage);
    if (!isClosed && systemCode(error.cause) !== "ERR_HTTP2_ERROR") throw error;
    const message = `${withAdvice(error)}; if the service uses TLS, use https://`;
    const code = isClosed ? Code.Unavailable : error.code;
    throw new ConnectError(message, code, undefined, undefined, error);
  }
};

const apiServer =
  "this is the address of the API server of Kubernetes; use the address of the service of kubeconnect";

const notOurs =
  "the response is not one of kubeconnect; check the address, its path, and the proxies in between";

const notHttp2 = `the server does not use HTTP/2 as kubeconnect does: ${notOurs}`;

const untrusted =
  "the certificate of the service is not signed by an authority that this program trusts; " +
  "in Node.js pass the certificate of its authority as tls.ca";

/** Advice by the error codes of Node.js, Deno and Bun, whose messages are those of OpenSSL. */
const advice: ReadonlyMap<unknown, string> = new Map([
  ["ERR_SSL_WRONG_VERSION_NUMBER", "the service does not use TLS at this address: use http://"],
  ["ERR_HTTP2_ERROR", notHttp2],
  ["ERR_SSL_TLSV1_ALERT_NO_APPLICATION_PROTOCOL", notHttp2],
  ["DEPTH_ZERO_SELF_SIGNED_CERT", untrusted],
  ["SELF_SIGNED_CERT_IN_CHAIN", untrusted],
  ["UNABLE_TO_GET_ISSUER_CERT_LOCALLY", untrusted],
  ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", untrusted],
]);

/** Returns the code of an error, or of its cause: fetch throws a TypeError with a cause. */
function systemCode(error: unknown): unknown {
  if (!(error instanceof Error)) return undefined;
  return "code" in error ? error.code : systemCode(error.cause);
}
