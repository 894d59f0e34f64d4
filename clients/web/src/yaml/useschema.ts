import { useLoaded } from "../session/useloaded.js";
import { KindSchema } from "./schema.js";

/**
 * Returns the schema of a resource; undefined until it has arrived, and if there is none. The server
 * validates what is written in any case.
 */
export function useSchema(resource: string): KindSchema | undefined {
  const { value } = useLoaded(
    resource,
    async (client, signal) => new KindSchema((await client.schema(resource, { signal })).schema),
  );
  return value;
}
