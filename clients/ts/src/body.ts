/**
 * The body of a write: any value that JSON.stringify accepts, such as a KubeObject, or JSON or
 * YAML as text or bytes, which are sent unchanged.
 */
export type WriteBody = object | string | Uint8Array;

/** Returns the body field of a request. Bodies are sent as bytes, so that numbers are unchanged. */
export function encodeBody(body: WriteBody): { case: "data"; value: Uint8Array } {
  if (body instanceof Uint8Array) {
    return { case: "data", value: body };
  }
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return { case: "data", value: new TextEncoder().encode(text) };
}
