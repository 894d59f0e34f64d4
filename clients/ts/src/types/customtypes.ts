import type { SchemaResult } from "../discovery.js";
import type { Resource } from "../object.js";
import { Declarations } from "./declarations.js";
import { objectOf, textOf } from "./schema.js";
import { pascalCase, propertyName } from "./text.js";

/** The schema of a resource, and the names that the registry has for the resource. */
export interface CustomResource extends SchemaResult {
  readonly names: readonly string[];
}

/** The width of prettier's default configuration. */
const width = 80;

const header = `// Written by "npx @kubeconnect/client types". Do not edit.\n\n`;

/**
 * Returns a file with the types of resources, and their entries in ResourceTypes. The same resources
 * in the same order have the same file.
 */
export function customTypesText(resources: readonly CustomResource[]): string {
  if (resources.length === 0) return `${header}export {};\n`;
  const file = new CustomTypes();
  const entries = file.declareAll(resources);
  return [
    `${header}import type * as metav1 from "@kubeconnect/client/k8s/meta/v1";`,
    `declare module "@kubeconnect/client" {\n  interface ResourceTypes {\n${entries}\n  }\n}`,
    `${file.text}\n`,
  ].join("\n\n");
}

class CustomTypes {
  /** The schema that is being declared, with those that it refers to. */
  #document: unknown;
  readonly #declarations = new Declarations({
    width,
    external: externalType,
    referenced: (ref) => objectOf(objectOf(objectOf(this.#document).components).schemas)[ref],
  });

  get text(): string {
    return this.#declarations.text;
  }

  /** Declares the types of resources, and returns their entries of the registry. */
  declareAll(resources: readonly CustomResource[]): string {
    // The kinds have their names before the parts of other kinds take them.
    const names = resources.map(({ resource: { kind, group } }) =>
      this.#declarations.reserve(pascalCase(kind), pascalCase(kind, group)),
    );
    return resources.flatMap((each, index) => this.#declare(names[index] ?? "", each)).join("\n");
  }

  #declare(type: string, { resource, schema, names }: CustomResource): string[] {
    this.#document = schema;
    this.#declarations.startDocument();
    this.#declarations.declare(type, schema, {
      apiVersion: apiVersion(resource),
      kind: resource.kind,
      metadata: "metav1.StoredObjectMeta",
    });
    return names.map((name) => `    ${propertyName(name)}: ${type};`);
  }
}

function apiVersion({ group, version }: Resource): string {
  return group === "" ? version : `${group}/${version}`;
}

/** Returns the type of a schema that the package has; undefined for others. */
function externalType(ref: string): string | undefined {
  return metaTypes.has(ref) ? `metav1.${textOf(ref.split(".").at(-1))}` : undefined;
}

const meta = "io.k8s.apimachinery.pkg.apis.meta.v1";

/** The schemas that those of custom resources refer to. */
const metaTypes = new Set([
  `${meta}.ObjectMeta`,
  `${meta}.LabelSelector`,
  `${meta}.Condition`,
  `${meta}.OwnerReference`,
  `${meta}.Time`,
  `${meta}.MicroTime`,
  "io.k8s.apimachinery.pkg.api.resource.Quantity",
  "io.k8s.apimachinery.pkg.runtime.RawExtension",
  "io.k8s.apimachinery.pkg.util.intstr.IntOrString",
]);
