import type { WriteBody } from "./body.js";
import type { BuiltInTypes } from "./k8s/resources.js";
import type { KubeObject, KubeValue } from "./object.js";

/**
 * The types of custom resources, by the names of the resources, which a program adds by declaration
 * merging:
 *
 * ```ts
 * declare module "@kubeconnect/client" {
 *   interface ResourceTypes {
 *     "widgets.example.com": Widget;
 *   }
 * }
 * ```
 *
 * `npx @kubeconnect/client types` writes this for the resources of a cluster. The built-in resources
 * need no entry. An entry with the name of one replaces its type.
 */
// eslint-disable-next-line @typescript-eslint/no-empty-object-type -- programs add its entries
export interface ResourceTypes {}

/** The names of resources whose types are known. */
export type KnownResource = keyof ResourceTypes | keyof BuiltInTypes;

/** The name of any resource: an editor suggests those whose types are known. */
export type ResourceName = KnownResource | (string & Record<never, never>);

/** The type of a resource's objects, by its name: Pod for "pods", KubeValue for an unknown name. */
export type ObjectOf<R extends string> = R extends keyof ResourceTypes
  ? ResourceTypes[R]
  : R extends keyof BuiltInTypes
    ? BuiltInTypes[R]
    : KubeValue;

/**
 * An object to write, of the type `T` that its kind has when it is read. What the API server sets or
 * adds may be missing: the kind, the status, and all fields of the metadata.
 */
export type Manifest<T> = Omit<T, "apiVersion" | "kind" | "metadata" | "status"> &
  Partial<Pick<T, Extract<keyof T, "apiVersion" | "kind" | "status">>> & {
    metadata?: T extends { metadata: infer M } ? Partial<M> : object;
  };

/** The body of a write of an object of type `T`: a Manifest, an object that was read, or text. */
export type BodyOfType<T> = Manifest<T> | KubeObject<T> | string | Uint8Array;

/** The body of a write to a resource. It can be any object if the type of the resource is unknown. */
export type BodyOf<R extends string> = R extends KnownResource
  ? BodyOfType<ObjectOf<R>>
  : WriteBody;

/** The types of the objects of several watches, by their keys. */
export type ObjectsOf<W extends Readonly<Record<string, { readonly resource: string }>>> = {
  [K in keyof W]: ObjectOf<W[K]["resource"]>;
};

/**
 * The subresources with which a call to a resource has the objects of that resource: "status". Others
 * have objects of another kind, such as Scale.
 */
export type WholeObject<R extends string> = R extends KnownResource
  ? { readonly subresource?: "status" | undefined }
  : unknown;
