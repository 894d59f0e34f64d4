/** The objects of a namespace that a pod needs, by resource and name. */
export type References = ReadonlyMap<string, ReadonlyMap<string, Reference>>;

export interface Reference {
  /** What the pod does with the object: "mounts", "reads", "runs as", "pulls with". */
  readonly use: string;
  /** Whether the pod also runs without the object. */
  readonly optional: boolean;
}

interface Named {
  readonly name?: string;
  readonly optional?: boolean;
}

interface Source {
  readonly configMap?: Named;
  readonly secret?: Named & { readonly secretName?: string };
  readonly persistentVolumeClaim?: { readonly claimName?: string };
  readonly projected?: { readonly sources?: readonly Source[] };
}

interface Container {
  readonly env?: readonly {
    readonly valueFrom?: { readonly configMapKeyRef?: Named; readonly secretKeyRef?: Named };
  }[];
  readonly envFrom?: readonly { readonly configMapRef?: Named; readonly secretRef?: Named }[];
}

/** The part of a pod's spec that names other objects. */
export interface PodSpec {
  readonly nodeName?: string;
  readonly serviceAccountName?: string;
  readonly imagePullSecrets?: readonly Named[];
  readonly volumes?: readonly Source[];
  readonly containers?: readonly Container[];
  readonly initContainers?: readonly Container[];
}

/** Every namespace has it, and every pod mounts it. */
const rootCertificate = "kube-root-ca.crt";

/** Returns the claims, config maps, secrets and the service account that a pod uses. */
export function referencesOf(spec: PodSpec): References {
  const found = new Map<string, Map<string, Reference>>();
  const add = (resource: string, use: string, named: Named | undefined) => {
    if (!named?.name || named.name === rootCertificate) return;
    const names = found.get(resource) ?? new Map<string, Reference>();
    const optional = (names.get(named.name)?.optional ?? true) && named.optional === true;
    names.set(named.name, { use: names.get(named.name)?.use ?? use, optional });
    found.set(resource, names);
  };
  const addSource = ({ configMap, secret, persistentVolumeClaim: claim, projected }: Source) => {
    add("configmaps", "mounts", configMap);
    add(
      "secrets",
      "mounts",
      secret && { ...secret, ...(secret.secretName && { name: secret.secretName }) },
    );
    add(
      "persistentvolumeclaims",
      "mounts",
      claim?.claimName ? { name: claim.claimName } : undefined,
    );
    projected?.sources?.forEach(addSource);
  };
  spec.volumes?.forEach(addSource);
  for (const { env = [], envFrom = [] } of [
    ...(spec.initContainers ?? []),
    ...(spec.containers ?? []),
  ]) {
    for (const { valueFrom } of env) {
      add("configmaps", "reads", valueFrom?.configMapKeyRef);
      add("secrets", "reads", valueFrom?.secretKeyRef);
    }
    for (const { configMapRef, secretRef } of envFrom) {
      add("configmaps", "reads", configMapRef);
      add("secrets", "reads", secretRef);
    }
  }
  for (const secret of spec.imagePullSecrets ?? []) add("secrets", "pulls with", secret);
  add(
    "serviceaccounts",
    "runs as",
    spec.serviceAccountName ? { name: spec.serviceAccountName } : {},
  );
  return found;
}
