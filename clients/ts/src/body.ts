/**
 * What a write sends: anything that JSON.stringify takes, a KubeObject too; or JSON or
 * YAML as text or as its bytes, which are passed on as they are.
 */
export type WriteBody = object | string | Uint8Array;

/** The field of a request that has a body: bytes, so that numbers stay as written. */
export function encodeBody(body: WriteBody): { case: "data"; value: Uint8Array } {
  if (body instanceof Uint8Array) {
    return { case: "data", value: body };
  }
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return { case: "data", value: new TextEncoder().encode(text) };
}
