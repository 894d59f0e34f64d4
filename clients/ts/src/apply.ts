import type { CallOptions } from "./call.js";
import type { Client } from "./client.js";
import { ApplyError, KubeconnectError } from "./error.js";
import { manifestsOf, type ApplyDocuments } from "./manifest.js";
import type { PatchResult } from "./patch.js";
import { Scopes } from "./scopes.js";
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

/** Applies the objects of documents one after the other. All are tried. */
export async function applyDocuments(
  client: Pick<Client, "patch" | "resourceTypes">,
  documents: ApplyDocuments,
  { namespace, fieldManager = "kubeconnect", ...options }: ApplyOptions,
): Promise<PatchResult[]> {
  const scopes = new Scopes(client, options);
  const results: (PatchResult | KubeconnectError)[] = [];
  for (const manifest of manifestsOf(documents)) {
    const { resource, name, body, description } = manifest;
    try {
      const place = manifest.namespace || (await scopes.namespaceFor(manifest, namespace));
      const patch = { ...options, fieldManager, type: "apply", body } as const;
      results.push(await client.patch(resource, { namespace: place, name }, patch));
    } catch (error) {
      if (!(error instanceof KubeconnectError) || error.isClosed) throw error; // as all others would
      results.push(error.withMessage(`${description}: ${error.message}`));
    }
  }
  const [first, ...others] = results.filter((each) => each instanceof KubeconnectError);
  if (first) throw new ApplyError(results, [first, ...others]);
  return results as PatchResult[];
}
