/**
 * Returns the message of an error that the service has not sent, with what to do about it. The cause is
 * the error of the runtime.
 */
export function withAdvice(message: string, cause: unknown): string {
  if (/^HTTP \d+$/.test(message)) return `${message}: ${notOurs}`;
  return advice.get(systemCode(cause)) ?? message;
}

const notOurs =
  "the response is not one of kubeconnect; check the address, its path, and the proxies in between";

const untrusted =
  "the certificate of the service is not signed by an authority that this program trusts; " +
  "in Node.js pass the certificate of its authority as tls.ca";

/** Advice by the codes of Node.js, Deno and Bun, whose messages are those of OpenSSL. */
const advice: ReadonlyMap<unknown, string> = new Map([
  ["ERR_SSL_WRONG_VERSION_NUMBER", "the service does not use TLS at this address: use http://"],
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
