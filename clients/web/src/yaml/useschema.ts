import { useClient } from "@kubeconnect/client/react";
import { useEffect, useState } from "react";
import { KindSchema } from "./schema.js";

/** Returns the schema of a resource; undefined until it has arrived, and if there is none. */
export function useSchema(resource: string): KindSchema | undefined {
  const client = useClient();
  const [schema, setSchema] = useState<KindSchema>();
  useEffect(() => {
    const leaving = new AbortController();
    client.schema(resource, { signal: leaving.signal }).then(
      (result) => {
        setSchema(new KindSchema(result.schema));
      },
      () => undefined, // the server validates what is written in any case
    );
    return () => {
      leaving.abort();
    };
  }, [client, resource]);
  return schema;
}
