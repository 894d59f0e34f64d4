import type { CallOptions } from "./call.js";
import type { Client } from "./client.js";
import { KubeconnectError } from "./error.js";
import { manifestsOf, type ApplyDocuments, type Manifest } from "./manifest.js";
import type { PatchResult } from "./patch.js";
import type { WriteOptions } from "./write.js";

/** Options of applyYaml. The timeout is for each object. */
export interface ApplyOptions extends CallOptions, Omit<WriteOptions, "subresource"> {
  /**
   * The namespace of objects without one in their metadata. It is ignored for kinds that have no
   * namespaces.
   */
  readonly namespace?: string | undefined;
  /**
   * The manager that owns the fields of the objects. A field that it applied before and that is
   * missing now is removed. Programs that apply different fields of the same object need different
   * managers. Default: "kubeconnect".
   */
  readonly fieldManager?: string | undefined;
  /** Takes ownership of fields from other managers. */
  readonly force?: boolean | undefined;
}

/** Applies the objects of documents one after the other. */
export async function applyDocuments(
  client: Pick<Client, "patch" | "resourceTypes">,
  documents: ApplyDocuments,
  { namespace, fieldManager = "kubeconnect", ...options }: ApplyOptions,
): Promise<PatchResult[]> {
  const scopes = new Scopes(client, options);
  const results: PatchResult[] = [];
  for (const manifest of manifestsOf(documents)) {
    const { resource, name, body, description } = manifest;
    try {
      const place = manifest.namespace || (await scopes.namespaceOf(manifest, namespace));
      const patch = { ...options, fieldManager, type: "apply", body } as const;
      results.push(await client.patch(resource, { namespace: place, name }, patch));
    } catch (error) {
      if (!(error instanceof KubeconnectError)) throw error;
      throw error.withMessage(`${description}: ${error.message}`);
    }
  }
  return results;
}

/** Whether kinds have namespaces, read once for each API group. */
class Scopes {
  readonly #client: Pick<Client, "resourceTypes">;
  readonly #options: CallOptions;
  readonly #groups = new Map<string, ReadonlyMap<string, boolean>>();

  constructor(client: Pick<Client, "resourceTypes">, options: CallOptions) {
    this.#client = client;
    this.#options = options;
  }

  /** Returns the default namespace if the object's kind has namespaces. */
  async namespaceOf({ group, kind }: Manifest, namespace?: string): Promise<string | undefined> {
    if (!namespace) return undefined;
    const kinds = this.#groups.get(group) ?? (await this.#read(group));
    // A kind that is not served yet is defined by an earlier document.
    return (kinds.get(kind) ?? true) ? namespace : undefined;
  }

  async #read(group: string): Promise<ReadonlyMap<string, boolean>> {
    const { signal, headers, timeoutMs } = this.#options;
    const options = { signal, headers, timeoutMs, group: group || "core" };
    const { types } = await this.#client.resourceTypes(options);
    const kinds = new Map(types.map(({ resource }) => [resource.kind, resource.namespaced]));
    this.#groups.set(group, kinds);
    return kinds;
  }
}
