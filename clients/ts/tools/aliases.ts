/** The types that are written by hand, since their schemas say too little, by the names of the schemas. */
export const aliases: ReadonlyMap<string, string> = new Map([
  [
    "io.k8s.apimachinery.pkg.api.resource.Quantity",
    `/**
 * An amount, such as "500m" (half a CPU), "128Mi" or "1e3": a decimal number, and a suffix that is a
 * power of 1024 (Ki, Mi, Gi, Ti, Pi, Ei) or of 1000 (n, u, m, k, M, G, T, P, E). The API server
 * always returns a string. It accepts a number too; write "2" for 2.
 */
export type Quantity = string;
`,
  ],
  [
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
    `/** A number, or a string such as "25%" or the name of a port. */
export type IntOrString = number | string;
`,
  ],
  [
    "io.k8s.apimachinery.pkg.apis.meta.v1.Time",
    `/** A time in the form of RFC 3339, in seconds: "2026-01-31T12:00:00Z". */
export type Time = string;
`,
  ],
  [
    "io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime",
    `/** A time in the form of RFC 3339, in microseconds: "2026-01-31T12:00:00.000000Z". */
export type MicroTime = string;
`,
  ],
  [
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1",
    `/** The fields that a manager owns: each key is a field, "f:NAME", or an item of a list. */
export type FieldsV1 = Record<string, unknown>;
`,
  ],
  [
    "io.k8s.apimachinery.pkg.runtime.RawExtension",
    `/** An object of any kind. */
export type RawExtension = Record<string, unknown>;
`,
  ],
]);

/** The metadata of objects that are read. */
export const storedObjectMeta = `/**
 * The metadata of an object that was read. The API server has set what \`ObjectMeta\` has as optional,
 * because a caller may leave it out of an object to write: see \`Manifest\`.
 */
export interface StoredObjectMeta extends ObjectMeta {
  name: string;
  uid: string;
  resourceVersion: string;
  creationTimestamp: Time;
}
`;
