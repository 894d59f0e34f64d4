interface PodSpec {
  readonly containers?: readonly { readonly name: string }[];
  readonly initContainers?: readonly { readonly name: string }[];
  readonly ephemeralContainers?: readonly { readonly name: string }[];
  readonly template?: { readonly spec?: PodSpec };
}

/** Returns the names of the containers of a pod or of a workload's template. */
export function containersOf(value: object): readonly string[] {
  const { spec } = value as { readonly spec?: PodSpec };
  const pod = spec?.template?.spec ?? spec;
  const { containers = [], initContainers = [], ephemeralContainers = [] } = pod ?? {};
  return [...containers, ...initContainers, ...ephemeralContainers].map(({ name }) => name);
}
