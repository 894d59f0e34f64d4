import type { CallOptions } from "./call.js";
import type { Client } from "./client.js";

/** Whether kinds have namespaces, read once for each API group. */
export class Scopes {
  readonly #client: Pick<Client, "resourceTypes">;
  readonly #options: CallOptions;
  readonly #groups = new Map<string, ReadonlyMap<string, boolean>>();

  constructor(client: Pick<Client, "resourceTypes">, options: CallOptions) {
    this.#client = client;
    this.#options = options;
  }

  /** Returns the namespace if the kind has namespaces, or is not served. */
  async namespaceFor(
    { group, kind }: { readonly group: string; readonly kind: string },
    namespace: string | undefined,
  ): Promise<string | undefined> {
    if (!namespace) return undefined;
    const kinds = this.#groups.get(group) ?? (await this.#read(group));
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
