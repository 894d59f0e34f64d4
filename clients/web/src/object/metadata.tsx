import type { KubeObject, KubeValue } from "@kubeconnect/client";
import { plural, type Reference } from "../model/summary/types.js";
import { Chip } from "../ui/chip.js";
import styles from "./object.module.css";
import { ObjectLink } from "./reference.js";

interface Metadata {
  readonly ownerReferences?: readonly OwnerReference[];
  readonly finalizers?: readonly string[];
  readonly generation?: number;
}

interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
}

/** Returns the owner as the page addresses it. The service knows resources by their singular name too. */
export function ownerOf({ apiVersion, kind, name }: OwnerReference, namespace: string): Reference {
  const [group] = apiVersion.includes("/") ? apiVersion.split("/") : [""];
  const singular = kind.toLowerCase();
  const isInNamespace = !(
    apiVersion === "v1" && ["Node", "Namespace", "PersistentVolume"].includes(kind)
  );
  return {
    resource: group ? `${singular}.${group}` : singular,
    ...(isInNamespace && namespace && { namespace }),
    name,
  };
}

/** The metadata of an object: owners, labels, annotations, finalizers. */
export function Metadata({ object }: { readonly object: KubeObject }) {
  const {
    labels = {},
    annotations = {},
    uid,
    creationTimestamp,
    ...rest
  } = object.value.metadata as KubeValue["metadata"] & Metadata;
  const { ownerReferences = [], finalizers = [] } = rest;
  return (
    <section aria-labelledby="metadata">
      <h2 id="metadata">Metadata</h2>
      <dl className={styles.metadata}>
        {ownerReferences.length > 0 && (
          <div>
            <dt>Owned by</dt>
            <dd>
              {ownerReferences.map((each) => (
                <span key={`${each.kind} ${each.name}`}>
                  {each.kind} <ObjectLink to={ownerOf(each, object.namespace)} />
                </span>
              ))}
            </dd>
          </div>
        )}
        <div>
          <dt>Labels</dt>
          <dd className={styles.labels}>
            {Object.entries(labels).map(([name, value]) => (
              <Chip key={name}>{value ? `${name}=${value}` : name}</Chip>
            ))}
            {Object.keys(labels).length === 0 && <span className={styles.dim}>none</span>}
          </dd>
        </div>
        {finalizers.length > 0 && (
          <div>
            <dt>Finalizers</dt>
            <dd>{finalizers.join(", ")}</dd>
          </div>
        )}
        <div>
          <dt>Created</dt>
          <dd>{new Date(creationTimestamp).toLocaleString()}</dd>
        </div>
        <div>
          <dt>UID</dt>
          <dd>
            <code>{uid}</code>
          </dd>
        </div>
        <Annotations annotations={annotations} isSecret={object.resource.kind === "Secret"} />
      </dl>
    </section>
  );
}

function Annotations({
  annotations,
  isSecret,
}: {
  readonly annotations: Readonly<Record<string, string>>;
  readonly isSecret: boolean;
}) {
  // kubectl keeps the whole object in an annotation, with the values of a secret.
  const shown = Object.entries(annotations).filter(
    ([name]) => !isSecret || name !== "kubectl.kubernetes.io/last-applied-configuration",
  );
  if (shown.length === 0) return null;
  return (
    <div>
      <dt>Annotations</dt>
      <dd>
        <details>
          <summary>{plural(shown.length, "annotation")}</summary>
          <dl className={styles.annotations}>
            {shown.map(([name, value]) => (
              <div key={name}>
                <dt>{name}</dt>
                <dd>
                  <code>{value}</code>
                </dd>
              </div>
            ))}
          </dl>
        </details>
      </dd>
    </div>
  );
}
