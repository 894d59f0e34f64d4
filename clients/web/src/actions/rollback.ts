import type { Client, KubeObject, KubeValue, PatchResult } from "@kubeconnect/client";
import { omit } from "../model/omit.js";
import { targetOf } from "../model/target.js";

const revisionAnnotation = "deployment.kubernetes.io/revision";

/** An earlier or the present template of a deployment. */
export interface Revision {
  readonly number: number;
  readonly replicaSet: string;
  /** RFC 3339. */
  readonly createdAt: string;
  readonly cause: string;
  readonly template: KubeValue["metadata"] | object;
  readonly isCurrent: boolean;
}

/** Returns the revisions of a deployment from its replica sets, the latest first. */
export function revisionsOf(
  deployment: KubeValue,
  replicaSets: readonly KubeValue[],
): readonly Revision[] {
  const current = Number(deployment.metadata.annotations?.[revisionAnnotation]);
  const revisions = replicaSets.map(({ metadata, spec }) => {
    const number = Number(metadata.annotations?.[revisionAnnotation]);
    return {
      number,
      replicaSet: metadata.name,
      createdAt: metadata.creationTimestamp,
      cause: metadata.annotations?.["kubernetes.io/change-cause"] ?? "",
      template: withoutHash((spec as { template?: Template }).template ?? {}),
      isCurrent: number === current,
    };
  });
  return revisions.filter((each) => each.number > 0).sort((a, b) => b.number - a.number);
}

interface Template {
  readonly metadata?: { readonly labels?: Readonly<Record<string, string>> };
}

/** Returns a template without the label that the deployment controller adds. */
function withoutHash(template: Template): Template {
  const labels = omit(template.metadata?.labels ?? {}, "pod-template-hash");
  return { ...template, metadata: { ...template.metadata, labels } };
}

/** Reads the revisions of a deployment. */
export async function readRevisions(
  client: Client,
  deployment: KubeObject,
): Promise<readonly Revision[]> {
  const { resource, namespace, name } = targetOf(deployment);
  const related = { type: "ownedBy", resource, namespace, name } as const;
  const { objects } = await client.list("replicasets.apps", { namespace, related }).all();
  return revisionsOf(
    deployment.value,
    objects.map(({ value }) => value),
  );
}

/** Sets the template of a deployment to that of a revision. */
export function rollBack(
  client: Client,
  deployment: KubeObject,
  revision: Revision,
): Promise<PatchResult> {
  const { resource, namespace, name } = targetOf(deployment);
  const body = [{ op: "replace", path: "/spec/template", value: revision.template }];
  return client.patch(resource, { namespace, name }, { type: "json", body, uid: deployment.uid });
}
