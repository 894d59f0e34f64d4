/** Returns the resource of a kind in the form Kind.version.group, which names it without discovery. */
export function kindResource(
  apiVersion: string,
  kind: string,
): { group: string; resource: string } {
  const [version = "", group = ""] = apiVersion.split("/").reverse();
  return { group, resource: `${kind}.${version}.${group}` };
}
