import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { objectOf, type Schema } from "../src/types/schema.js";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** A resource of Kubernetes. */
export interface BuiltInResource {
  readonly plural: string;
  readonly singular: string;
  readonly shortNames: readonly string[];
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  /** Whether its objects can be read. A SubjectAccessReview, for example, is only an answer. */
  readonly stored: boolean;
}

/** What Kubernetes publishes about its API: the schemas by name, and the resources in kubectl's order. */
export interface Kubernetes {
  readonly version: string;
  readonly schemas: ReadonlyMap<string, Schema>;
  readonly resources: readonly BuiltInResource[];
}

/**
 * Reads the OpenAPI schemas and the discovery documents of k8s.io/kubernetes, in the version of
 * e2e/cluster/go.mod. Fails if it is not the minor version of k8s.io/api in go.mod, from which the
 * types of the Python client are generated.
 */
export function readKubernetes(): Kubernetes {
  const { Dir: folder, Version: version } = module("k8s.io/kubernetes", join(root, "e2e/cluster"));
  const { Version: api } = module("k8s.io/api", root);
  if (version.split(".")[1] !== api.split(".")[1]) {
    throw new Error(
      `go.mod has k8s.io/api ${api}, e2e/cluster/go.mod k8s.io/kubernetes ${version}`,
    );
  }
  const schemas = readSchemas(join(folder, "api/openapi-spec/v3"));
  return { version, schemas, resources: readResources(join(folder, "api/discovery")) };
}

function module(path: string, folder: string): { Dir: string; Version: string } {
  const command = ["mod", "download", "-json", path];
  return JSON.parse(execFileSync("go", command, { cwd: folder, encoding: "utf8" })) as {
    Dir: string;
    Version: string;
  };
}

function readSchemas(folder: string): Map<string, Schema> {
  const documents = readdirSync(folder).map((file) => objectOf(readJson(join(folder, file))));
  return new Map(
    documents
      .flatMap((document) => Object.entries(objectOf(objectOf(document.components).schemas)))
      .map(([name, schema]) => [name, objectOf(schema)]),
  );
}

interface CoreResources {
  resources: {
    name: string;
    singularName: string;
    kind: string;
    verbs: string[];
    shortNames?: string[];
  }[];
}

interface GroupResources {
  items: {
    metadata: { name: string };
    versions: {
      version: string;
      resources: {
        resource: string;
        singularResource: string;
        responseKind: { kind: string };
        verbs: string[];
        shortNames?: string[];
      }[];
    }[];
  }[];
}

/** Returns the resources: the core group first, and the preferred version of a group first. */
function readResources(folder: string): BuiltInResource[] {
  const core = (readJson(join(folder, "api__v1.json")) as CoreResources).resources;
  const groups = (readJson(join(folder, "aggregated_v2.json")) as GroupResources).items;
  return [
    ...core
      .filter(({ name }) => !name.includes("/"))
      .map(({ name, singularName, kind, verbs, shortNames = [] }) => ({
        ...{ plural: name, singular: singularName, shortNames, group: "", version: "v1", kind },
        stored: verbs.includes("get"),
      })),
    ...groups.flatMap(({ metadata, versions }) =>
      versions.flatMap(({ version, resources }) =>
        resources.map(({ resource, singularResource, responseKind, verbs, shortNames = [] }) => ({
          ...{ plural: resource, singular: singularResource, shortNames, version },
          ...{ group: metadata.name, kind: responseKind.kind, stored: verbs.includes("get") },
        })),
      ),
    ),
  ];
}

function readJson(path: string): unknown {
  return JSON.parse(readFileSync(path, "utf8"));
}
